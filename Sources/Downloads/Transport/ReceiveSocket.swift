internal import CLinux
internal import Glibc

/// The socket of a transfer, as far as its receive window is concerned (tcp(7)).
enum ReceiveSocket {
  static func sample(_ socket: Int32) -> ReceiveWindow.Sample? {
    var receive = ol_tcp_receive()
    guard ol_tcp_receive_info(socket, &receive) == 0 else { return nil }
    return ReceiveWindow.Sample(
      roundTrip: .microseconds(Int64(receive.round_trip)),
      shortestRoundTrip: .microseconds(Int64(receive.shortest_round_trip)),
      receivedBytes: Int64(clamping: receive.bytes), segmentBytes: Int(receive.segment_bytes))
  }

  static func limit(_ socket: Int32, to bytes: Int) {
    var value = Int32(clamping: bytes)
    setsockopt(socket, Int32(IPPROTO_TCP), TCP_WINDOW_CLAMP, &value, socklen_t(MemoryLayout<Int32>.size))
  }
}
