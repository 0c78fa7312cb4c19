internal import Glibc
internal import LinuxSystem

/// Puts a plan on the wire, at its pace and to its end.
struct Transmitter {
  private static let piece = 1 << 18
  private static let chunk = 1 << 16

  let bytesPerSecond: Int?

  /// How many bytes of the body went out, also when the connection ended on the way.
  func send(_ plan: ResponsePlan, to stream: borrowing Stream, sent: inout Int) throws(StreamEnd) {
    if let delay = plan.timing.beforeStatus { try stream.pause(delay) }
    let limit = plan.cut.map { min($0, plan.body.count) } ?? plan.body.count
    if isOrdinary(plan), limit <= Self.chunk {
      // Small responses leave in one packet.
      var buffer = plan.head
      switch plan.body {
      case .none: break
      case .bytes(let bytes): buffer += bytes.prefix(limit)
      case .content(let content, let range):
        let body = content.bytes(in: range.lowerBound..<range.lowerBound + limit)
        buffer += body
        guard body.count == limit, content.isUnchanged else { throw .closed }
      }
      try stream.write(buffer)
      sent = limit
      return
    }
    try sendHead(plan, stream)
    if let delay = plan.timing.beforeBody { try stream.pause(delay) }
    switch plan.framing {
    case .plain: try sendBody(plan, limit, stream, &sent)
    case .chunked(let kind): try sendChunks(plan, kind, limit, stream, &sent)
    }
  }

  private func isOrdinary(_ plan: ResponsePlan) -> Bool {
    guard case .plain = plan.framing else { return false }
    return !plan.headIsEndless && plan.timing == Reply.Timing() && bytesPerSecond == nil
  }

  private func sendHead(_ plan: ResponsePlan, _ stream: borrowing Stream) throws(StreamEnd) {
    if plan.headIsEndless {
      try stream.write(Array(plan.head.dropLast(2)) + Array("X-Endless: ".utf8))
      let line = [UInt8](repeating: 0x78, count: Self.chunk)
      while true { try stream.write(line) }
    }
    guard let pause = plan.timing.betweenHeadBytes else { return try stream.write(plan.head) }
    for byte in plan.head {
      try stream.write([byte])
      try stream.pause(pause)
    }
  }

  private func sendBody(
    _ plan: ResponsePlan, _ limit: Int, _ stream: borrowing Stream, _ sent: inout Int
  ) throws(StreamEnd) {
    var pacer = Pacer(plan.timing, bytesPerSecond)
    if pacer.isFree, !stream.isEncrypted, case .content(let content, let range) = plan.body,
      case .file(let file) = content.source
    {
      // Large steps, so that what was sent is known when the client goes away. The end comes from memory: it leaves only
      // when nothing was written to the file by then, and without it the client has no whole file of two versions.
      while limit - sent > Self.piece {
        let step = min(limit - sent - Self.piece, 64 << 20)
        try stream.sendFile(file.number, range.lowerBound + sent..<range.lowerBound + sent + step)
        sent += step
        guard file.isUnchanged else { throw .closed }
      }
    }
    var buffer: [UInt8] = []
    while sent < limit {
      let step = min(limit - sent, pacer.isFree ? Self.piece : pacer.size)
      try fill(&buffer, plan.body, sent, step)
      try stream.write(buffer)
      sent += step
      if let pause = pacer.pause(after: step) { try stream.pause(pause) }
    }
  }

  private func sendChunks(
    _ plan: ResponsePlan, _ kind: Reply.Framing, _ limit: Int, _ stream: borrowing Stream, _ sent: inout Int
  ) throws(StreamEnd) {
    var pacer = Pacer(plan.timing, bytesPerSecond)
    var buffer: [UInt8] = []
    if case .giantExtension(let size) = kind {
      try stream.write(Array("1;x=".utf8))
      let filler = [UInt8](repeating: 0x78, count: Self.chunk)
      var left = size
      while left > 0 {
        try stream.write(Array(filler.prefix(left)))
        left -= min(left, filler.count)
      }
      try fill(&buffer, plan.body, 0, min(limit, 1))
      try stream.write([13, 10] + buffer + [13, 10])
      sent += buffer.count
    }
    while sent < limit {
      let step = min(limit - sent, pacer.isFree ? Self.chunk : min(pacer.size, Self.chunk))
      // A cut lies inside a chunk: its size promises more than comes.
      let declared = plan.cut != nil && sent + step == limit ? min(step + 1, plan.body.count - sent) : step
      try fill(&buffer, plan.body, sent, step)
      let size = kind == .badChunkSize && sent + step == limit ? "zz" : String(declared, radix: 16)
      try stream.write(Array("\(size)\r\n".utf8) + buffer + (declared == step ? [13, 10] : []))
      sent += step
      if let pause = pacer.pause(after: step) { try stream.pause(pause) }
    }
    let isWhole = plan.cut.map { $0 >= plan.body.count } ?? true
    if kind != .withoutLastChunk, isWhole { try stream.write(Array("0\r\n\r\n".utf8)) }
  }

  /// A file that has become shorter, or was written to, breaks its promise: the connection ends.
  private func fill(_ buffer: inout [UInt8], _ body: ResponsePlan.Body, _ offset: Int, _ count: Int) throws(StreamEnd) {
    switch body {
    case .none: buffer = []
    case .bytes(let bytes): buffer = Array(bytes[offset..<offset + count])
    case .content(let content, let range):
      if buffer.count != count { buffer = [UInt8](repeating: 0, count: count) }
      let got = buffer.withUnsafeMutableBytes { (try? content.read(into: $0, at: range.lowerBound + offset)) ?? 0 }
      guard got == count, content.isUnchanged else { throw .closed }
    }
  }
}

/// How large the pieces of a body are and what pause follows each.
struct Pacer {
  private let slicePause: Duration
  private let rate: Int?
  private let start = BootClock.now
  private var sent = 0
  let size: Int
  let isFree: Bool

  init(_ timing: Reply.Timing, _ connectionRate: Int?) {
    rate = [timing.bytesPerSecond, connectionRate].compactMap { $0 }.min().map { max($0, 1) }
    slicePause = timing.slice?.pause ?? .zero
    isFree = rate == nil && timing.slice == nil
    // About fifty pieces a second.
    size = max(min(timing.slice?.size ?? 1 << 16, rate.map { $0 / 50 } ?? 1 << 16), 1)
  }

  mutating func pause(after count: Int) -> Duration? {
    guard !isFree else { return nil }
    sent += count
    guard let rate else { return slicePause }
    return max(start + .seconds(Double(sent) / Double(rate)) - BootClock.now, slicePause)
  }
}
