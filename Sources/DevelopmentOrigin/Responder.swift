internal import Basics
internal import Glibc
internal import Hashing
internal import Synchronization

/// Decides what a request is answered with.
final class Responder: Sendable {
  private let configuration: OriginConfiguration
  private let tree: DirectoryTree?
  private let resources: Mutex<[String: Resource]>
  private let authenticator: Authenticator?
  private let proxyAuthenticator: Authenticator?

  init(_ configuration: OriginConfiguration, tree: DirectoryTree?) {
    self.configuration = configuration
    self.tree = tree
    resources = Mutex(configuration.resources)
    authenticator = configuration.authentication.map { Authenticator($0) }
    proxyAuthenticator = configuration.proxyAuthentication.map { Authenticator($0) }
  }

  func set(_ path: String, _ resource: Resource?) { resources.withLock { $0[path] = resource } }
  func resource(_ path: String) -> Resource? { resources.withLock { $0[path] } }

  func plan(_ request: RecordedRequest) -> ResponsePlan {
    let reply =
      configuration.handler?(request, request.nth) ?? configuration.script.reply(to: request)
    if configuration.isProxy, request.isForAnother {
      if let challenge = proxyAuthenticator?.challenge(request, field: "Proxy-Authorization") {
        var head = ResponseHead(status: 407)
        head.set("Proxy-Authenticate", challenge)
        return finish(request, head, text("407 Proxy Authentication Required\n", &head), reply: Reply())
      }
      guard let reply else { return ResponsePlan(status: 0, head: [], keepsAlive: false, isPassedOn: true) }
      return plan(request, reply)
    }
    if let challenge = authenticator?.challenge(request, field: "Authorization") {
      var head = ResponseHead(status: 401)
      head.set("WWW-Authenticate", challenge)
      return finish(request, head, text("401 Unauthorized\n", &head), reply: Reply())
    }
    return plan(request, reply ?? Reply())
  }

  /// The answer to what couldn't be read.
  func refusal(_ status: Int, _ reason: String) -> ResponsePlan {
    var head = ResponseHead(status: status)
    let body = text("\(status) \(reason)\n", &head)
    head.set("Date", HTTPDate.text(Int64(time(nil))))
    head.set("Content-Length", "\(body.count)")
    head.set("Connection", "close")
    return ResponsePlan(status: status, head: head.bytes, body: body, keepsAlive: false, fault: reason)
  }

  private func plan(_ request: RecordedRequest, _ reply: Reply) -> ResponsePlan {
    if let raw = reply.raw ?? reply.garbage.map({ Content.pseudoRandom(seed: seed(request), count: $0).bytes }) {
      var plan = ResponsePlan(
        status: 0, head: [], body: .bytes(raw), keepsAlive: false, timing: reply.timing, fault: reply.name)
      end(&plan, request, reply)
      if reply.ending == nil { plan.cut = raw.count }
      return plan
    }
    if let redirect = reply.redirect, let target = location(redirect, request) {
      var head = ResponseHead(status: reply.status ?? target.status)
      head.rawLines.append(Array("Location: \(target.text)".utf8))
      let body = text("\(head.status) \(ResponseHead.reason(head.status))\n", &head)
      return finish(request, head, body, reply: reply)
    }
    // A script that names a body has it for every method.
    guard reply.body != nil || ["GET", "HEAD", "CONNECT"].contains(request.method) else {
      var head = ResponseHead(status: 405)
      head.set("Allow", "GET, HEAD")
      let body = text("405 Method Not Allowed\n", &head)
      return finish(request, head, body, reply: reply)
    }
    if let body = reply.body {
      var resource: Resource? =
        switch body {
        case .bytes(let bytes): Resource(.bytes(bytes), contentType: "text/plain; charset=utf-8")
        case .repeating(let pattern, let count): Resource(.repeating(pattern, count: count))
        case .resource(let path):
          switch find(path, Array(path.utf8)) {
          case .resource(let found): found
          case .head: nil
          }
        }
      if case .resource = body {
      } else {
        resource?.etag = ETagKind.none
        resource?.lastModified = nil
      }
      guard let resource else {
        var head = ResponseHead(status: 500)
        return finish(request, head, text("500 The script's body isn't there\n", &head), reply: reply)
      }
      return plan(request, resource, reply)
    }
    if let status = reply.status, status >= 300 || status == 204 {
      var head = ResponseHead(status: status)
      let hasBody = status >= 400
      return finish(
        request, head, hasBody ? text("\(status) \(reply.reason ?? ResponseHead.reason(status))\n", &head) : .none,
        reply: reply)
    }
    switch find(request.path, request.pathBytes) {
    case .resource(let resource): return plan(request, resource, reply)
    case .head(var head):
      return finish(request, head, text("\(head.status) \(ResponseHead.reason(head.status))\n", &head), reply: reply)
    }
  }

  private enum Found {
    case resource(Resource)
    case head(ResponseHead)
  }

  private func find(_ path: String, _ bytes: [UInt8]) -> Found {
    if let found = resource(path) { return .resource(found) }
    switch tree?.entry(at: bytes) ?? .missing {
    case .file(let content, let modified):
      return .resource(Resource(versions: [content], contentType: ContentTypes.of(path), lastModified: modified))
    case .directory(let names):
      guard bytes.last == UInt8(ascii: "/") else {
        var head = ResponseHead(status: 301)
        // One slash: two would make the first segment a host.
        let plain = String(path.drop { $0 == "/" })
        head.set("Location", "/" + Listing.percentEncoded(plain) + "/")
        return .head(head)
      }
      let page = Content.bytes(Listing.html(names, of: path))
      return .resource(Resource(versions: [page], contentType: "text/html; charset=utf-8", lastModified: nil))
    case .missing: return .head(ResponseHead(status: 404))
    case .forbidden: return .head(ResponseHead(status: 403))
    }
  }

  /// The ordinary answer to a request for a resource, and the faults that belong to it.
  private func plan(_ request: RecordedRequest, _ resource: Resource, _ reply: Reply) -> ResponsePlan {
    var content = resource.versions.last ?? .bytes([])
    let original = content
    if let fault = reply.entity { content = resource.version(fault.version, lengthChange: fault.lengthChange) }
    let validators = self.validators(resource, content, original, reply.entity)
    if reply.isGzipped { content = .bytes(Gzip.stored(content.bytes(in: 0..<min(content.count, Gzip.longest)))) }
    var head = ResponseHead(status: reply.status ?? 200)
    head.set("Accept-Ranges", "bytes")
    if let etag = validators.etag { head.set("ETag", etag) }
    if let modified = validators.lastModified { head.set("Last-Modified", HTTPDate.text(Int64(modified))) }
    if reply.status == nil, reply.range?.evaluatesConditions ?? true {
      let refusesMatches = reply.range == .ignoredWithConditions && request.header("If-Match") != nil
      switch refusesMatches ? .failed : Preconditions.evaluate(request, validators) {
      case .proceed: break
      case .notModified:
        head.status = 304
        return finish(request, head, .none, reply: reply)
      case .failed:
        head.status = 412
        return finish(request, head, text("412 Precondition Failed\n", &head), reply: reply)
      }
    }
    head.set("Content-Type", resource.contentType)
    if reply.isGzipped { head.set("Content-Encoding", "gzip") }
    addDigests(&head, request, content, reply.digest)
    let honoursRange = reply.status == nil && Preconditions.allowsRange(request, validators)
    return plan(request, head, of: content, resource, reply, honoursRange: honoursRange)
  }

  /// What of the content is sent, as it was asked for, or as the fault of ranges has it.
  private func plan(
    _ request: RecordedRequest, _ head: ResponseHead, of content: Content, _ resource: Resource, _ reply: Reply,
    honoursRange: Bool
  ) -> ResponsePlan {
    var head = head
    var wanted = RequestedRange.everything
    if request.method == "GET", honoursRange {
      wanted = RequestedRange(request.headers("Range").count == 1 ? request.header("Range") : nil, of: content.count)
    }
    var shift = (start: 0, end: 0, total: 0)
    var hasContentRange = true
    switch reply.range {
    case nil: break
    case .ignored: wanted = .everything
    case .ignoredWithIfRange, .ignoredWithConditions:
      if request.header("If-Range") != nil { wanted = .everything }
    case .multipart:
      guard case .part(let range) = wanted else { break }
      head.status = 206
      head.set("Content-Type", Envelope.contentType)
      return finish(request, head, .bytes(Envelope.bytes(range, of: content, resource.contentType)), reply: reply)
    case .unasked(let range):
      wanted = .part(
        (range ?? (content.count / 2)..<content.count).clamped(to: 0..<content.count))
    case .refused(let contentRange):
      wanted = .unsatisfiable
      hasContentRange = contentRange
    case .shifted(let start, let end, let total): shift = (start, end, total)
    }
    switch wanted {
    case .everything: return finish(request, head, .content(content, 0..<content.count), reply: reply)
    case .part(let range):
      head.status = 206
      let first = range.lowerBound + shift.start
      head.set("Content-Range", "bytes \(first)-\(range.upperBound - 1 + shift.end)/\(content.count + shift.total)")
      return finish(request, head, .content(content, range), reply: reply)
    case .unsatisfiable:
      head.status = 416
      head.remove("Repr-Digest")
      if hasContentRange { head.set("Content-Range", "bytes */\(content.count)") }
      return finish(request, head, text("416 Range Not Satisfiable\n", &head), reply: reply)
    }
  }

  private func validators(
    _ resource: Resource, _ content: Content, _ original: Content, _ fault: Reply.EntityFault?
  ) -> Validators {
    let identity = fault?.tag == .same ? original.identity : content.identity
    var kind = resource.etag ?? configuration.etag
    if fault?.tag == .weak { kind = .weak }
    if fault?.tag == Reply.EntityFault.Tag.none { kind = .none }
    let etag: String? =
      switch kind {
      case .strong: "\"\(identity)\""
      case .weak: "W/\"\(identity)\""
      case .none: nil
      }
    // Another version is younger, unless it pretends to be the same.
    let modified = resource.lastModified.map { fault == nil || fault?.tag == .same ? $0 : $0 + (fault?.version ?? 0) }
    return Validators(etag: etag, lastModified: fault?.tag == Reply.EntityFault.Tag.none ? nil : modified)
  }

  private func addDigests(
    _ head: inout ResponseHead, _ request: RecordedRequest, _ content: Content, _ fault: Reply.DigestFault?
  ) {
    var algorithms = configuration.digests.filter { $0 != .md5 }
    if let wanted = request.header("Want-Repr-Digest").flatMap(Self.preferred) { algorithms = [wanted] }
    func field(_ algorithm: DigestAlgorithm, _ digest: [UInt8]) -> String {
      "\(algorithm.rawValue)=:\(Base64.encode(digest)):"
    }
    switch fault {
    case nil:
      if !algorithms.isEmpty {
        head.set("Repr-Digest", algorithms.map { field($0, content.digest($0)) }.joined(separator: ", "))
      }
    case .wrong: head.set("Repr-Digest", field(.sha256, DigestAlgorithm.sha256.hash("another file".utf8)))
    case .unknownAlgorithm: head.set("Repr-Digest", "blake9=:\(Base64.encode(DigestAlgorithm.sha256.hash("x".utf8))):")
    case .disagreeing:
      head.set(
        "Repr-Digest",
        field(.sha256, content.digest(.sha256)) + ", "
          + field(.sha512, DigestAlgorithm.sha512.hash("another file".utf8)))
    }
  }

  /// The algorithm that a `Want-Repr-Digest` prefers among those that are known.
  private static func preferred(_ field: String) -> DigestAlgorithm? {
    var best: (weight: Int, algorithm: DigestAlgorithm)?
    for item in field.split(separator: ",") {
      let parts = item.split(separator: "=", maxSplits: 1).map { String($0).trimmed }
      guard parts.count == 2, let weight = Int(parts[1]), weight > best?.weight ?? 0,
        let algorithm = DigestAlgorithm(rawValue: parts[0]), algorithm != .md5
      else { continue }
      best = (weight, algorithm)
    }
    return best?.algorithm
  }

  private func text(_ text: String, _ head: inout ResponseHead) -> ResponsePlan.Body {
    head.set("Content-Type", "text/plain; charset=utf-8")
    return .bytes(Array(text.utf8))
  }

  private func location(_ redirect: Reply.Redirect, _ request: RecordedRequest) -> (text: String, status: Int)? {
    switch redirect {
    case .loop: return (request.target, 302)
    case .hops(let hops):
      let done = request.query.flatMap { $0.hasPrefix("hop=") ? Int($0.dropFirst(4)) : nil } ?? 0
      return done >= hops ? nil : ("\(Listing.percentEncoded(request.path))?hop=\(done + 1)", 302)
    case .to(let text, let status):
      return (Self.filled(text, ["{host}": request.authority, "{path}": Listing.percentEncoded(request.path)]), status)
    }
  }

  private static func filled(_ text: String, _ values: [String: String]) -> String {
    var result = ""
    var rest = text[...]
    outer: while let first = rest.first {
      for (name, value) in values where rest.hasPrefix(name) {
        result += value
        rest = rest.dropFirst(name.count)
        continue outer
      }
      result.append(first)
      rest.removeFirst()
    }
    return result
  }

  private func seed(_ request: RecordedRequest) -> UInt64 {
    PseudoRandom.mix(configuration.script.seed, request.path, request.nth)
  }

  /// Adds what every response has, then what the reply wants of the frame.
  private func finish(
    _ request: RecordedRequest, _ start: ResponseHead, _ body: ResponsePlan.Body, reply: Reply
  ) -> ResponsePlan {
    var head = start
    if let reason = reply.reason { head.reason = reason }
    head.set("Date", HTTPDate.text(Int64(time(nil))))
    switch reply.retryAfter {
    case nil: break
    case .seconds(let seconds): head.set("Retry-After", "\(seconds)")
    case .date(let seconds): head.set("Retry-After", HTTPDate.text(Int64(time(nil) + seconds)))
    case .text(let text): head.set("Retry-After", text)
    }
    var plan = ResponsePlan(
      status: head.status, head: [], body: body, keepsAlive: true, timing: reply.timing, fault: reply.name)
    frame(&plan, &head, reply)
    if request.isVersion10 || request.headers("Connection").contains(where: { $0.lowercased().contains("close") }) {
      plan.keepsAlive = false
    }
    end(&plan, request, reply)
    if !plan.keepsAlive, reply.ending == nil { head.set("Connection", "close") }
    if request.method == "HEAD" || plan.status == 304 || plan.status == 204 || plan.status < 200 { plan.body = .none }
    for name in reply.removedHeaders { head.remove(name) }
    for field in reply.setHeaders { head.set(field.name, field.value) }
    head.rawLines += reply.rawHeaderLines
    switch reply.flood {
    case nil: break
    case .many(let count): for index in 0..<count { head.rawLines.append(Array("X-Flood-\(index): \(index)".utf8)) }
    case .huge(let size): head.rawLines.append(Array("X-Huge: ".utf8) + [UInt8](repeating: 0x78, count: size))
    case .endless:
      plan.headIsEndless = true
      plan.keepsAlive = false
    }
    plan.head = head.bytes
    return plan
  }

  private func frame(_ plan: inout ResponsePlan, _ head: inout ResponseHead, _ reply: Reply) {
    let count = plan.body.count
    switch reply.framing {
    case nil: if plan.status != 304 && plan.status != 204 { head.set("Content-Length", "\(count)") }
    case .untilClose: plan.keepsAlive = false
    case .chunked?: plan.framing = .chunked(.chunked)
    case let faulty?:
      plan.framing = .chunked(faulty)
      plan.keepsAlive = false
    }
    if case .chunked = plan.framing { head.set("Transfer-Encoding", "chunked") }
    switch reply.length {
    case nil: return
    case .off(let difference): head.set("Content-Length", "\(max(count + difference, 0))")
    case .twice: head.rawLines.append(Array("Content-Length: \(count)".utf8))
    case .contradicting: head.rawLines.append(Array("Content-Length: \(count + 1)".utf8))
    case .withChunked:
      plan.framing = .chunked(.chunked)
      head.set("Transfer-Encoding", "chunked")
      head.set("Content-Length", "\(count)")
    }
    plan.keepsAlive = false
  }

  private func end(_ plan: inout ResponsePlan, _ request: RecordedRequest, _ reply: Reply) {
    guard let ending = reply.ending else { return }
    plan.keepsAlive = false
    plan.manner = ending.manner
    switch ending.position {
    case .byte(let position): plan.cut = position
    case .random: plan.cut = Int(seed(request) % UInt64(max(plan.body.count, 1)))
    case .wholeBody: plan.cut = nil
    }
  }
}
