import HostProtocol

/// libFuzzer's entry: one input is a datagram of a fork server, or a stream of frames, by its first byte. What is
/// accepted has to come out again byte for byte; everything else has to be refused without a trap.
@c(LLVMFuzzerTestOneInput)
public func fuzzOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = Array(UnsafeBufferPointer(start: bytes, count: count))
  guard let choice = input.first else { return 0 }
  let rest = input.dropFirst()
  switch choice % 3 {
  case 0:
    if let request = try? ServerRequest(decoding: rest) { precondition(request.encoded()[...] == rest) }
  case 1:
    if let event = try? ServerEvent(decoding: rest) { precondition(event.encoded()[...] == rest) }
  default:
    var assembler = FrameAssembler()
    assembler.append(rest)
    while let frame = try? assembler.next() { decode(frame) }
  }
  return 0
}

private func decode(_ frame: Frame) {
  if let message = try? HostMessage(frame) { precondition(message.frame(id: frame.id) == frame) }
  if let message = try? RunnerMessage(frame) { precondition(message.frame(id: frame.id) == frame) }
  if let request = try? ServiceRequest(frame) { precondition(request.frame(id: frame.id) == frame) }
  if let reply = try? ServiceReply(frame) { precondition(reply.frame(id: frame.id) == frame) }
}
