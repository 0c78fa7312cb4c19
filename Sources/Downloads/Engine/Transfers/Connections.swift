internal import AssetModel
internal import Basics

/// Requests on the wire: what they ask for, what is answered, and how they end. Network thread only.
final class Connections: EnginePart, TransportClient {
  unowned let engine: TransferEngine
  var segments: [TransferID: Segment] = [:]
  var nextYield: Duration = .zero

  init(_ engine: TransferEngine) { self.engine = engine }

  // What it uses of the others.
  var endings: JobEndings { engine.parts.endings }
  var bodies: BodyReceiver { engine.parts.bodies }
  var chunked: ChunkedTransfers { engine.parts.chunked }
  var network: NetworkWatch { engine.parts.network }
  var room: RoomKeeper { engine.parts.room }

  func request(_ job: ActiveJob, _ segment: Segment) {
    segment.plan = nil
    job.hasRequested = true
    let specification = job.record.specification
    var headers: [Download.Header] = []
    let (url, method) = (segment.request.url, segment.request.method(of: specification))
    let answer = job.access.authorization(for: url, method: method, cnonce: cnonce)
    if !segment.request.dropsCredentials {
      // A challenge that was answered since counts for more than what the client had said before.
      headers += specification.headers.filter { header in
        RequestFields.mayBeSet(header.name)
          && !(segment.request.hasBecomeGet && header.name.lowercased().hasPrefix("content-"))
          && !answer.contains { $0.name.lowercased() == header.name.lowercased() }
      }
    }
    headers = job.cookies.added(to: headers, for: segment.request.url)
    headers += segment.request.ask.headers
    segment.known = knownVersion(job, segment)
    if let condition = segment.known?.condition { headers.append(condition) }
    headers.append(Download.Header(name: "Want-Repr-Digest", value: "sha-256=10, sha-512=5"))
    if job.record.history.triedNoTransform {
      headers.append(Download.Header(name: "Cache-Control", value: "no-transform"))
    }
    if job.record.history.digestMismatches > 0 || job.file.evidence.hadBadChunk {
      headers.append(Download.Header(name: "Cache-Control", value: "no-cache"))
    }
    headers += answer
    var request = TransportRequest(url: segment.request.url, headers: headers)
    request.method = method
    request.body = segment.request.body(of: specification)
    request.proxyHeaders = job.access.proxyAuthorization(for: url, method: method, cnonce: cnonce)
    request.pins = engine.options.transport.pins[segment.request.url.host] ?? []
    if let key = job.access.trustedKeys[url.host] { request.trust = .exactKey(key) }
    request.clientCertificate = job.access.certificates[url.origin]
    if request.clientCertificate == nil, url.scheme == "https" {
      request.clientCertificate = engine.options.clientCertificate?(url.origin)
    }
    request.address = edge(for: job, segment.request.url)
    let remaining = job.total.map { $0 - job.arrivedBytes }
    request.isLarge =
      (remaining ?? 0) >= 8 << 20 || job.avoidsHTTP2 || engine.origins[engine.originNumber(url)].avoidsHTTP2
    request.needsFreshConnection = segment.link.timesTooLate > 0 || segment.request.wasMisdirected
    segment.link.window = ReceiveWindow()
    segment.link.mayBeHTTP2 = !request.isLarge && segment.request.url.scheme == "https"
    segment.link.isConnected = false
    segments[segment.transfer] = segment
    segment.link.asked = clock.boot
    segment.link.headDeadline = clock.boot + engine.options.transport.connectTimeout
    transport.start(request, as: segment.transfer)
  }

  /// From the request to its complete head; bytes that trickle in don't extend it.
  static let headTimeout: Duration = .seconds(60)

  func transfer(_ id: TransferID, received bytes: UnsafeRawBufferPointer) -> DataVerdict {
    guard let segment = segments[id] else { return .abort }
    return bodies.receive(bytes, on: segment)
  }

  /// Asks again, on a transfer of its own.
  func requestAgain(_ job: ActiveJob, _ segment: Segment) {
    segments[segment.transfer] = nil
    segment.transfer = TransferID(number: engine.number())
    segment.writer = nil
    segment.partEnd = nil
    request(job, segment)
  }

  func firstAsk(_ job: ActiveJob, _ url: ParsedURL) -> ResumePolicy.Ask {
    // Where redirects led before, they probably lead again.
    let last = (job.record.partial?.entity.finalURL).flatMap { try? ParsedURL($0) } ?? url
    let ask = ResumePolicy.ask(
      job.record, offset: job.file.written.offset,
      originIsRangeless: engine.origins[engine.originNumber(url)].isRangeless,
      remembered: engine.origins[engine.originNumber(last)].rangeCondition)
    // Without all of what has to be compared nothing would show whose bytes come.
    guard case .range(let first, _, _) = ask, job.file.written.offset - first == Int64(job.file.written.tail.count)
    else { return .whole }
    return ask
  }

  /// Only where there is nothing yet of another version, and only of a GET: a 304 to anything else is no answer.
  func knownVersion(_ job: ActiveJob, _ segment: Segment) -> KnownVersion? {
    let specification = job.record.specification
    guard segment.request.ask == .whole, job.record.partial == nil, job.file.written.offset == 0,
      job.file.chunks == nil,
      specification.hasRanges
    else { return nil }
    return engine.options.knownVersion?(specification)
  }

  func enforceDeadlines(_ now: Duration) {
    for segment in Array(segments.values) {
      if let deadline = segment.link.headDeadline, now >= deadline {
        timeOut(segment)
      } else if segment.link.headDeadline == nil, segment.writer != nil, segment.stall.isStalled(at: now) {
        failTransfer(segment, .stalled)
      }
    }
  }

  /// No connection or no head came in time, or the rest of an unwanted answer: then what it says is enough.
  func timeOut(_ segment: Segment) {
    if segment.plan != nil {
      var end = TransportEnd()
      end.receivedBytes = transport.cancel(segment.transfer)
      return transfer(segment.transfer, ended: end)
    }
    guard !segment.link.isConnected else { return failTransfer(segment, .headTimeout) }
    let (text, isProxied) = ("no connection in time", engine.options.transport.isProxied(segment.request.url))
    failTransfer(
      segment,
      isProxied
        ? .proxy("\(engine.options.transport.proxyName(for: segment.request.url)): \(text)")
        : .connect("\(segment.request.url.origin): \(text)"))
  }

  /// Drops a transfer and treats its job as one whose attempt failed.
  func failTransfer(_ segment: Segment, _ problem: TransferProblem) {
    guard let job = engine.active[segment.job] else { return }
    if segment.link.isConnected { distrustHTTP2(segment) }
    drop(segment)
    endings.attemptFailed(job, segment, problem, retryAfter: nil)
  }

  func drop(_ segment: Segment) {
    let received = transport.cancel(segment.transfer)
    // Its head, and bodies that weren't wanted; what was wanted is charged as it goes to the file.
    if let job = engine.active[segment.job], received > segment.received {
      // Never beyond what was reserved: it is given up because there is no more.
      let besides = job.allowance.atMost(received - segment.received)
      bodies.charge(job, besides)
      job.allowance.charge(besides)
    }
    segments[segment.transfer] = nil
    bodies.paced[segment.transfer] = nil
  }

  func yieldLink(_ now: Duration) {
    guard now >= nextYield else { return }
    nextYield = now + ReceiveWindow.interval
    for segment in segments.values {
      guard let job = engine.active[segment.job] else { continue }
      guard job.record.transferClass.isBackground else {
        // Promoted, or on a connection that a background transfer had before.
        if segment.link.window.limit != nil {
          segment.link.window = ReceiveWindow()
          transport.limitWindow(of: segment.transfer, to: ReceiveWindow.maxBytes)
        }
        continue
      }
      guard let sample = transport.receiveSample(of: segment.transfer),
        let limit = segment.link.window.look(sample, at: now)
      else { continue }
      transport.limitWindow(of: segment.transfer, to: limit)
      if segment.link.window.isGivingWay(at: now), !segment.link.isKnownToGiveWay {
        segment.link.isKnownToGiveWay = true
        events.send(.note(job.id, "the link is busy: it gives way to others, as long as it is in the background"))
      }
    }
  }
}
