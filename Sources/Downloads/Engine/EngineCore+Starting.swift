internal import AssetModel
internal import Dispatch
internal import Glibc
internal import LinuxSystem

/// From a slot to a request: the partial is looked at, then the server is asked for the rest.
extension EngineCore {
  func open(_ job: ActiveJob) {
    let specification = job.record.specification
    guard Self.isFileName(specification.fileName), specification.directory.hasPrefix("/"),
      !specification.directory.utf8.contains(0)
    else {
      let name = "\(specification.directory)/\(specification.fileName)"
      return settle(job, .fail(TransferFailure(.notAllowed, detail: "\(Printable.text(name)) is no place for a file")))
    }
    let destination: Destination
    do throws(SystemCallError) {
      destination = try self.destination(specification)
    } catch {
      switch error.code {
      case EACCES, EPERM, ENOENT, ENOTDIR, ELOOP, EXDEV:
        let detail = DestinationProblem.text(error, specification.directory)
        return settle(job, .fail(TransferFailure(.volume, errno: error.code, detail: detail)))
      default: return fileFailed(job, error)
      }
    }
    job.file.destination = destination
    let name =
      job.record.partial?.stagingName
      ?? stagingName(specification, job.record.generation)
    let file = StagingFile(destination: destination, name: name)
    job.file.staging?.end()
    job.file.staging = file
    if job.record.state == .verified { return publish(job, isReplay: true) }
    job.allowance = Allowance(left: specification.budget == nil ? nil : job.record.reservedBytes)
    let chunks = specification.chunks
    let compared = ResumePolicy.isIdentified(job.record) ? 0 : ResumePolicy.comparedLength
    // Bytes that came before there was a chunk list are checked by it.
    guard let partial = job.record.partial, chunks == nil || !partial.verifiedChunks.isEmpty else {
      return salvage(job)
    }
    let (id, run, boot, mailbox) = (job.id, job.run, clock.bootIdentifier, mailbox)
    job.file.lane.async {
      let result = Result { () throws(SystemCallError) in
        try file.reopen(partial, boot: boot, chunks: chunks, comparing: compared)
      }
      mailbox.post { core in
        guard let job = core.job(id, run), job.phase == .opening else { return }
        switch result {
        case .success(nil): core.salvage(job)
        case .success(let kept?): core.opened(job, kept)
        case .failure(let error): core.fileFailed(job, error)
        }
      }
    }
  }

  /// One component, as rename(2) takes it.
  private static func isFileName(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.count <= 255 && name != "." && name != ".." && !StagingFolder.isReserved(name)
      && !name.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "/") }
  }

  /// The active job of that run, unless it is gone.
  func job(_ id: JobID, _ run: UInt64) -> ActiveJob? {
    guard let job = active[id], job.run == run else { return nil }
    return job
  }

  private func destination(_ specification: DownloadSpecification) throws(SystemCallError) -> Destination {
    let key = DestinationKey(app: specification.app, directory: specification.directory)
    if let destination = destinations[key]?.destination, destination.isAtItsPath { return destination }
    if destinations.count >= 64 { destinations = destinations.filter { $0.value.destination != nil } }
    let destination = try Destination(
      specification.directory, app: specification.app, files: files, beneath: options.containerRoots)
    destinations[key] = WeakDestination(destination: destination)
    return destination
  }

  /// `kept`: what there is of the partial that the journal knows; nil: there is no file.
  func opened(_ job: ActiveJob, _ kept: StagingFile.Kept?) {
    let specification = job.record.specification
    if let certain = kept?.certain, job.record.partial != nil {
      if specification.chunks == nil {
        job.record.partial?.checkpoints.removeAll { $0.offset > certain }
        job.file.written.offset = certain
        job.file.written.tail = kept?.tail ?? []
        job.file.identity.isJournalled = true
      }
    } else if job.record.partial != nil {
      // The journal knows a file that isn't there: nothing is left of it.
      job.record.partial = nil
      job.file.staging = job.file.destination.map {
        StagingFile(destination: $0, name: stagingName(specification, job.record.generation))
      }
    }
    if let chunks = specification.chunks {
      job.file.chunks = ChunkMap(
        chunks, verified: job.record.partial?.verifiedChunks ?? [], found: kept?.found ?? ChunkMap.Found())
      job.file.identity.isJournalled = true
      segmented[job.id] = job
    }
    job.file.written.checkpointed = job.durableBytes
    makeHasher(job)
    admit(job)
  }

  /// Room and allowance first, then the network.
  func admit(_ job: ActiveJob) {
    if job.next != nil { return continueSettling(job) }
    let need = job.total.map { max(0, $0 - job.arrivedBytes) }
    if need != 0, let shortage = shortageOfAll(of: job, starts: true) {
      return settle(job, .hold(.disk(shortage), after: nil))
    }
    space.admit(job.id, to: job.total ?? 0)
    // What is compared with what is there comes, too.
    if need != 0, !isAllowed(need.map { $0 + Int64(job.file.written.tail.count) }, job) { return }
    begin(job)
  }

  func begin(_ job: ActiveJob) {
    if isClosing { return settle(job, .close) }
    let specification = job.record.specification
    // A gate may have closed while the partial was looked at.
    if conditions.gate(for: job.record.transferClass, now: clock.boot) != nil { return settle(job, .yield) }
    events.send(.started(job.id))
    job.phase = .transferring
    scheduler.transfers(job.id)
    if let chunks = job.file.chunks {
      if chunks.isComplete { return settle(job, .verify) }
      addSegment(job)
      return
    }
    // At the known end there is nothing to ask: what is there is checked here.
    if let total = specification.exactSize ?? job.record.partial?.entity.total, job.file.written.offset == total,
      total > 0
    {
      return settle(job, .verify)
    }
    let url: ParsedURL
    do throws(RefusedURL) { url = try validatedURL(specification.url, specification) } catch {
      return settle(job, .fail(TransferFailure(.notAllowed, detail: error.text)))
    }
    let ask = firstAsk(job, url)
    let segment = Segment(
      job: job.id, transfer: TransferID(number: number()), ask: ask, url: url, start: job.file.written.offset,
      stall: StallWindow(isForeground: job.record.transferClass == .foreground, now: clock.boot))
    job.segments = [segment]
    request(job, segment)
  }

  func isProxied(_ url: ParsedURL) -> Bool {
    options.transport.proxy != nil && !ProxyRules.isDirect(url.host, noProxy: options.transport.noProxy)
  }

  /// The proxy, in messages.
  var proxyName: String { "the proxy \(ProxyRules.name(of: options.transport.proxy ?? ""))" }

  func originNumber(_ url: ParsedURL) -> UInt32 { origins.number(of: url.origin) }

  /// The rules of hosts for a job: the administrator's, and the download's own list.
  func hostRules(_ specification: DownloadSpecification) -> HostRules {
    var rules = options.transport.hosts
    rules.ownDomains = specification.allowedDomains
    if options.transport.proxy != nil {
      rules.proxiedExcept = options.transport.noProxy
      rules.namesLoopback = (try? ParsedURL(specification.url)).map { HostRules.isLoopback($0.host) } ?? false
    }
    return rules
  }

  /// Why a URL isn't asked.
  struct RefusedURL: Error {
    var text: String
  }

  /// One of a job's URLs, as it is asked.
  func validatedURL(_ text: String, _ specification: DownloadSpecification) throws(RefusedURL) -> ParsedURL {
    let url: ParsedURL
    do throws(ParsedURL.Failure) { url = try ParsedURL(text) } catch {
      throw RefusedURL(text: "\(Printable.text(text)) isn't a URL: \(error)")
    }
    if let rejectionReason = hostRules(specification).rejectionReason(for: url) {
      throw RefusedURL(text: rejectionReason)
    }
    return url
  }

  // MARK: Requests

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
        Self.mayBeSent(header.name) && !(segment.request.hasBecomeGet && header.name.lowercased().hasPrefix("content-"))
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
    request.pins = options.transport.pins[segment.request.url.host] ?? []
    if let key = job.access.trustedKeys[url.host] { request.trust = .exactKey(key) }
    request.clientCertificate = job.access.certificates[url.origin]
    request.address = edge(for: job, segment.request.url)
    let rest = job.total.map { $0 - job.arrivedBytes }
    request.isLarge = (rest ?? 0) >= 8 << 20 || job.avoidsHTTP2 || origins[originNumber(url)].avoidsHTTP2
    request.needsFreshConnection = segment.link.timesTooLate > 0
    segment.link.hasOwnConnection = request.isLarge
    segment.link.window = ReceiveWindow()
    segment.link.mayBeHTTP2 = !request.isLarge && segment.request.url.scheme == "https"
    segment.link.isConnected = false
    segments[segment.transfer] = segment
    segment.link.asked = clock.boot
    segment.link.headDeadline = clock.boot + options.transport.connectTimeout
    transport.start(request, as: segment.transfer)
  }

  /// From the request to its complete head; bytes that trickle in don't extend it.
  static let headTimeout: Duration = .seconds(60)

  /// Asks again, on a transfer of its own.
  func requestAgain(_ job: ActiveJob, _ segment: Segment) {
    segments[segment.transfer] = nil
    segment.transfer = TransferID(number: number())
    segment.writer = nil
    request(job, segment)
  }

  /// What a client may not set: it would change what the engine decides (the framing, ranges, codings and conditions).
  static func mayBeSent(_ name: String) -> Bool {
    let reserved: Set<String> = [
      "host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect", "range",
      "if-range",
      "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "accept-encoding", "want-repr-digest",
      "proxy-authorization", "keep-alive", "proxy-connection", "http2-settings",
    ]
    return !reserved.contains(name.lowercased())
  }
}

struct DestinationKey: Hashable {
  var app: String
  var directory: String
}

/// Kept open as long as a job goes there, and not longer.
struct WeakDestination {
  weak var destination: Destination?
}
