internal import CLinux
internal import Glibc

/// The socket of a transfer, as far as its receive window is concerned (tcp(7)).
enum ReceiveSocket {
  static func sample(_ socket: Int32) -> ReceiveWindow.Sample? {
    var roundTrip: UInt32 = 0
    var space: UInt32 = 0
    guard ol_tcp_receive_info(socket, &roundTrip, &space) == 0 else { return nil }
    return ReceiveWindow.Sample(roundTrip: .microseconds(Int64(roundTrip)), bytesPerRoundTrip: Int(space))
  }

  static func limit(_ socket: Int32, to bytes: Int) {
    var value = Int32(clamping: bytes)
    setsockopt(socket, Int32(IPPROTO_TCP), TCP_WINDOW_CLAMP, &value, socklen_t(MemoryLayout<Int32>.size))
  }
}
