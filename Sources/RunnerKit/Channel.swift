internal import Glibc
internal import HostProtocol
internal import LinuxSystem
internal import Synchronization

/// The runner's end of a channel: whole frames, blocking. The host trusted this code before the plugin came; from then
/// on it trusts nothing that arrives.
struct Channel {
  /// Whether anything was sent since this was last exchanged, on any channel. It tells the host of an answer in shared memory that
  /// something came on a socket before.
  static let hasSent = Atomic<Bool>(false)

  let descriptor: Int32
  private var assembler: FrameAssembler
  private var buffer = [UInt8](repeating: 0, count: 16384)

  init(_ descriptor: Int32, longestPayload: Int = Frame.longestPayload) {
    self.descriptor = descriptor
    assembler = FrameAssembler(longestPayload: longestPayload)
  }

  func send(_ frame: Frame) -> Bool {
    Self.hasSent.store(true, ordering: .releasing)
    guard frame.payload.count > buffer.count else { return (try? Sockets.send(descriptor, frame.encoded())) != nil }
    // Without another copy of what is long.
    do {
      try Sockets.send(descriptor, frame.header())
      try Sockets.send(descriptor, frame.payload)
      return true
    } catch {
      return false
    }
  }

  /// nil when the host has closed the channel. Throws where what came isn't a frame.
  mutating func receive() throws(ProtocolViolation) -> Frame? {
    while true {
      if let frame = try assembler.next() { return frame }
      guard let part = try? Sockets.receive(descriptor, into: &buffer), part.count > 0 else { return nil }
      assembler.append(buffer[0..<part.count])
    }
  }
}
