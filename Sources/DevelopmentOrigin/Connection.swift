internal import Glibc
internal import LinuxSystem

/// One connection, from its first byte to its end, on a thread of its own.
struct Connection {
  let number: Int
  let configuration: OriginConfiguration
  let responder: Responder
  let recorder: Recorder
  let tls: TLSServer?

  func serve(_ stream: consuming Stream) {
    do throws(StreamEnd) {
      var fault: CertificateFault?
      switch configuration.script.action(forConnection: number) {
      case nil: break
      case .reset: return stream.resetOnClose()
      case .silence: return try stream.drain(for: nil)
      case .certificate(let kind): fault = kind
      }
      if let tls {
        guard let context = try? tls.context(fault) else { return }
        do throws(StreamEnd) {
          try stream.startTLS(context, within: configuration.headLimit)
        } catch .closed {
          // Closing with unread bytes would reset the connection, and the client might lose the alert that says why.
          shutdown(stream.number, Int32(SHUT_WR))
          return try stream.drain(for: .milliseconds(500))
        }
      }
      var inbox = Inbox()
      while try exchange(&inbox, stream) {}
    } catch {
      return
    }
  }

  /// One request and its answer; whether another may follow.
  private func exchange(_ inbox: inout Inbox, _ stream: borrowing Stream) throws(StreamEnd) -> Bool {
    guard let result = try inbox.next(stream, configuration) else { return false }
    switch result {
    case .incomplete: return false
    case .refused(let status, let reason):
      let plan = responder.refusal(status, reason)
      try deliver(plan, nil, stream)
      return false
    case .request(let parsed, _):
      // Who has sent some of the body doesn't wait for it (RFC 9110, 10.1.1).
      if parsed.asksToContinue, inbox.isEmpty { try stream.write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
      var parsed = parsed
      parsed.body = try inbox.take(parsed.bodyLength, stream, configuration)
      parsed.clientName = stream.peerName
      let request = recorder.add(parsed, connection: number)
      let plan = responder.plan(request)
      if plan.isPassedOn {
        try relay(request, stream)
        return false
      }
      try deliver(plan, request, stream)
      return plan.keepsAlive
    }
  }

  private func deliver(_ plan: ResponsePlan, _ request: RecordedRequest?, _ stream: borrowing Stream) throws(StreamEnd)
  {
    var sent = 0
    defer {
      configuration.onResponse?(ServedResponse(request: request, status: plan.status, bytes: sent, fault: plan.fault))
    }
    try Transmitter(bytesPerSecond: configuration.bytesPerSecond).send(plan, to: stream, sent: &sent)
    guard !plan.keepsAlive else { return }
    switch plan.manner {
    case .close:
      // Closing with unread bytes would reset the connection, and the client might lose what was sent.
      stream.closeSending()
      try stream.drain(for: .milliseconds(500))
    case .reset: stream.resetOnClose()
    case .halfClose:
      stream.closeSending()
      try stream.drain(for: nil)
    case .silence: try stream.drain(for: nil)
    }
  }
}

/// What has been read and not yet been understood.
struct Inbox {
  private var buffer = [UInt8](repeating: 0, count: 16384)
  private var start = 0
  private var end = 0

  init() {}

  var isEmpty: Bool { start == end }

  /// The next head; nil when the client is done.
  mutating func next(_ stream: borrowing Stream, _ configuration: OriginConfiguration) throws(StreamEnd)
    -> RequestParser.Result?
  {
    var deadline: Duration?
    while true {
      if end > start {
        let result = buffer.withUnsafeBytes {
          RequestParser.parse(UnsafeRawBufferPointer(rebasing: $0[start..<end]), isProxy: configuration.isProxy)
        }
        switch result {
        case .incomplete: break
        case .refused: return result
        case .request(_, let length):
          start += length
          return result
        }
        if deadline == nil { deadline = BootClock.now + configuration.headLimit }
      }
      let left = deadline.map { $0 - BootClock.now } ?? configuration.idleLimit
      guard left > .zero else { return .refused(status: 408, reason: "the head took too long") }
      if try fill(stream, left) == 0 { return nil }
    }
  }

  /// A request's body.
  mutating func take(
    _ count: Int, _ stream: borrowing Stream, _ configuration: OriginConfiguration
  ) throws(StreamEnd) -> [UInt8] {
    var body: [UInt8] = []
    while body.count < count {
      if start == end, try fill(stream, configuration.headLimit) == 0 { throw .closed }
      let step = min(count - body.count, end - start)
      body += buffer[start..<start + step]
      start += step
    }
    return body
  }

  private mutating func fill(_ stream: borrowing Stream, _ limit: Duration) throws(StreamEnd) -> Int {
    if start == end {
      (start, end) = (0, 0)
    } else if end == buffer.count {
      buffer.removeFirst(start)
      (start, end) = (0, end - start)
      buffer += [UInt8](repeating: 0, count: max(buffer.count, 16384))
    }
    var failure: StreamEnd?
    let got = buffer.withUnsafeMutableBytes { bytes in
      do throws(StreamEnd) {
        return try stream.read(into: UnsafeMutableRawBufferPointer(rebasing: bytes[end...]), within: limit)
      } catch {
        failure = error
        return 0
      }
    }
    if let failure { throw failure }
    end += got
    return got
  }
}
