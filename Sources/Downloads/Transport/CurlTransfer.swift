internal import AssetModel
internal import CCurl
internal import CLinux
internal import Glibc
internal import LinuxSystem

/// One request on an easy handle, with its callbacks. Confined to the network thread.
final class CurlTransfer {
  let id: TransferID
  let handle: CurlHandle
  var easy: UnsafeMutableRawPointer { handle.easy }
  var isCancelled = false

  private let request: TransportRequest
  /// libcurl copies it when the transfer begins; it isn't read again as a text.
  private let url: CurlURL
  private let addresses: AddressPolicy
  private let proxy: String?
  private let client: () -> (any TransportClient)?
  private let lists: Lists
  /// nil: no tunnel is needed.
  private var tunnel: CurlTunnel?
  private var reader: ResponseHeadReader
  /// nil: heads aren't traced.
  private var trace: HeadTrace?
  private var verdict: HeadVerdict?
  private var drained = 0
  private var headerBytes: Int64 = 0
  private var bodyBytes: Int64 = 0
  private var refusal: AddressRefusal?
  private var abort: Abort?
  private(set) var use: ConnectionUse

  /// Why it ends before its end.
  private enum Abort {
    case byClient
    case hostile(HeadFailure)
  }

  /// What libcurl reads as long as the transfer lasts: it copies none of it.
  private struct Lists {
    let headers: CurlList
    let proxyHeaders: CurlList
    let address: CurlList
  }

  /// Bytes of an unwanted body that are still read, so that the connection can serve again.
  static let drainLimit = 64 << 10
  /// Bytes that one receive may bring: fewer system calls than the usual 16 KiB, still within the second-level cache, and
  /// less than what malloc(3) maps anew for each transfer (`Memory.keepSmall`).
  static let receiveBuffer = 112 << 10

  init(
    id: TransferID, on handle: CurlHandle, request: TransportRequest, of url: consuming CurlURL,
    options: TransportOptions, resolve: CurlList, kept: KeptSockets, client: @escaping () -> (any TransportClient)?
  ) {
    self.id = id
    use = ConnectionUse(kept: kept)
    self.handle = handle
    self.url = url
    self.request = request
    self.client = client
    addresses = options.addresses
    trace = options.observesHeads.map { HeadTrace(url: request.url.redacted, observer: $0) }
    reader = ResponseHeadReader(allowsHTTP2: request.mayBeHTTP2)
    let proxy = options.proxy(for: request.url)
    self.proxy = proxy
    tunnel = request.url.scheme == "https" ? proxy.map { CurlTunnel(isOfTLS: ProxyRules.isOfTLS($0)) } : nil
    // An empty line removes libcurl's own.
    let headers = CurlList(
      ["Accept:", "Accept-Encoding: identity"] + Self.removedFields(of: request)
        + (request.headers + (proxy != nil && tunnel == nil ? request.proxyHeaders : [])).map(Self.line))
    lists = Lists(
      headers: headers, proxyHeaders: CurlList(tunnel == nil ? [] : request.proxyHeaders.map(Self.line)),
      address: CurlList(request.address.map { ["::\($0.contains(":") ? "[\($0)]" : $0):"] } ?? []))
    if !handle.isConfigured { configure(options, resolve) }
    configureRequest()
  }

  /// What only this request says.
  private func configureRequest() {
    let context = Unmanaged.passUnretained(self).toOpaque()
    handle.errorText.pointee = 0
    // A handle that is used again keeps its last URL otherwise (libcurl before 8).
    oc_set_string(easy, CURLOPT_URL, nil)
    oc_set_url(easy, url.handle)
    oc_set_string(easy, CURLOPT_PROTOCOLS_STR, request.url.scheme == "http" ? "http" : "https")
    oc_set_list(easy, CURLOPT_HTTPHEADER, lists.headers.head)
    oc_set_long(
      easy, CURLOPT_HTTP_VERSION, request.mayBeHTTP2 ? Int(CURL_HTTP_VERSION_2TLS) : Int(CURL_HTTP_VERSION_1_1))
    oc_set_long(easy, CURLOPT_FRESH_CONNECT, request.needsFreshConnection ? 1 : 0)
    oc_set_pointer(easy, CURLOPT_WRITEDATA, context)
    oc_set_pointer(easy, CURLOPT_HEADERDATA, context)
    oc_set_pointer(easy, CURLOPT_OPENSOCKETDATA, context)
    oc_set_pointer(easy, CURLOPT_PREREQDATA, context)
    oc_set_pointer(easy, CURLOPT_DEBUGDATA, context)
    if lists.address.head != nil { oc_set_list(easy, CURLOPT_CONNECT_TO, lists.address.head) }
    if !request.isPlainGet { configureMethod() }
  }

  /// A handle with one isn't used again.
  private func configureMethod() {
    if !request.body.isEmpty || Self.methodsWithBody.contains(request.method) {
      oc_set_long(easy, CURLOPT_POSTFIELDSIZE, request.body.count)
      _ = request.body.withUnsafeBytes {
        // Copied; without an address libcurl would ask for the bytes by a callback.
        oc_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: $0.baseAddress))
      }
      if request.body.isEmpty { oc_set_string(easy, CURLOPT_POSTFIELDS, "") }
    }
    oc_set_string(easy, CURLOPT_CUSTOMREQUEST, request.method)
  }

  /// Those whose missing body is told by `Content-Length: 0` (RFC 9110, 8.6).
  private static let methodsWithBody: Set<String> = ["POST", "PUT", "PATCH"]

  private static func removedFields(of request: TransportRequest) -> [String] {
    if request.isPlainGet { return [] }
    let hasType = request.headers.contains { $0.name.lowercased() == "content-type" }
    return ["Expect:"] + (hasType ? [] : ["Content-Type:"])
  }

  /// What every ordinary request says, so that a handle that is used again has it already.
  private func configure(_ options: TransportOptions, _ resolve: CurlList) {
    handle.isConfigured = request.isOrdinary && options.treatsHostsAlike
    oc_set_string(easy, CURLOPT_REDIR_PROTOCOLS_STR, "https")
    for (option, value) in Self.flags { oc_set_long(easy, option, value) }
    oc_set_string(easy, CURLOPT_USERAGENT, options.userAgent)
    oc_set_string(easy, CURLOPT_PROXY, proxy ?? "")
    oc_set_string(easy, CURLOPT_NOPROXY, "")
    if tunnel != nil {
      oc_set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 0)
      oc_set_list(easy, CURLOPT_PROXYHEADER, lists.proxyHeaders.head)
    }
    if CurlNames.isUnknown(request.url, options.resolve) { CurlNames.refuse(easy) }
    oc_set_pointer(easy, CURLOPT_ERRORBUFFER, handle.errorText)
    oc_set_list(easy, CURLOPT_RESOLVE, resolve.head)
    oc_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, Int(options.connectTimeout.inNanoseconds / 1_000_000))
    configureTrust(options)
    oc_set_write(easy) { bytes, size, count, context in
      guard let bytes, let context else { return 0 }
      return CurlTransfer.from(context).receive(UnsafeRawBufferPointer(start: bytes, count: size * count))
    }
    oc_set_header(easy) { bytes, size, count, context in
      guard let bytes, let context else { return 0 }
      return CurlTransfer.from(context).receiveHeader(UnsafeRawBufferPointer(start: bytes, count: size * count))
    }
    oc_set_open_socket(easy) { context, purpose, address in
      guard let address, let context else { return curl_socket_t(-1) }
      return CurlTransfer.from(context).openSocket(address)
    }
    oc_set_prerequest(easy) { context, remote, local, remotePort, localPort in
      guard let context, let remote, let local else { return CURL_PREREQFUNC_ABORT }
      let ends = KeptSockets.Ends(
        remote: String(cString: remote), remotePort: remotePort, local: String(cString: local), localPort: localPort)
      return CurlTransfer.from(context).mayAsk(ends) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
    }
    if request.looksAtChainOnly { oc_set_long(easy, CURLOPT_CONNECT_ONLY, 1) }
    if trace != nil { configureTrace() }
  }

  private func configureTrace() {
    oc_set_long(easy, CURLOPT_VERBOSE, 1)
    oc_set_debug(easy) { _, kind, bytes, count, context in
      guard let bytes, let context else { return 0 }
      let head = UnsafeRawBufferPointer(start: bytes, count: count)
      switch kind {
      case CURLINFO_HEADER_OUT: CurlTransfer.from(context).trace?.sent(head)
      case CURLINFO_HEADER_IN: CurlTransfer.from(context).trace?.received(head)
      default: break
      }
      return 0
    }
  }

  private static let flags: [(CURLoption, Int)] = [
    (CURLOPT_FOLLOWLOCATION, 0), (CURLOPT_NETRC, 0), (CURLOPT_UNRESTRICTED_AUTH, 0), (CURLOPT_HTTP09_ALLOWED, 0),
    (CURLOPT_HTTP_CONTENT_DECODING, 0), (CURLOPT_NOSIGNAL, 1), (CURLOPT_SUPPRESS_CONNECT_HEADERS, 1),
    (CURLOPT_TCP_KEEPALIVE, 1), (CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)), (CURLOPT_TIMEOUT_MS, 0),
    (CURLOPT_MAXLIFETIME_CONN, 300), (CURLOPT_DNS_CACHE_TIMEOUT, 60), (CURLOPT_BUFFERSIZE, receiveBuffer),
    // Backstop of the engine's own window.
    (CURLOPT_LOW_SPEED_LIMIT, 1), (CURLOPT_LOW_SPEED_TIME, 120),
  ]

  private static func line(_ header: Download.Header) -> String {
    header.value.isEmpty ? "\(header.name);" : "\(header.name): \(header.value)"
  }

  private func configureTrust(_ options: TransportOptions) {
    if let file = options.authorityFile {
      oc_set_string(easy, CURLOPT_CAINFO, file)
      oc_set_string(easy, CURLOPT_PROXY_CAINFO, file)
    }
    let verifies = request.trust == .roots && !request.looksAtChainOnly
    oc_set_long(easy, CURLOPT_SSL_VERIFYPEER, verifies ? 1 : 0)
    oc_set_long(easy, CURLOPT_SSL_VERIFYHOST, verifies ? 2 : 0)
    if verifies { CurlIdentity.refuseWeakness(easy) }
    CurlIdentity.set(request.looksAtChainOnly ? nil : options.revocation[request.url.host], on: easy)
    if request.looksAtChainOnly { oc_set_long(easy, CURLOPT_CERTINFO, 1) }
    var pins = request.pins
    if case .exactKey(let key) = request.trust { pins = [key] }
    if !pins.isEmpty { oc_set_string(easy, CURLOPT_PINNEDPUBLICKEY, pins.joined(separator: ";")) }
    // A trust that was granted to one job must not be found on a connection by another.
    if request.trust != .roots || request.looksAtChainOnly {
      CurlIdentity.isolate(easy)
    }
    if let identity = request.clientCertificate { CurlIdentity.set(identity, on: easy) }
  }

  /// Of a connection that brings its body and nothing else: what is done to it concerns no other transfer.
  var ownSocket: Int32? {
    verdict == .take && !reader.isHTTP2 ? use.socket : nil
  }

  func limitWindow(to bytes: Int) {
    guard let socket = ownSocket else { return }
    use.hasLimitedWindow = bytes < ReceiveWindow.maxBytes
    ReceiveSocket.limit(socket, to: bytes)
  }

  /// Of the connection that libcurl keeps after the transfer.
  var keptConnection: Int32? {
    var socket: curl_socket_t = -1
    guard oc_get_socket(easy, &socket) == CURLE_OK, socket >= 0 else { return nil }
    return socket
  }

  private static func from(_ context: UnsafeMutableRawPointer) -> CurlTransfer {
    Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
  }

  // MARK: Callbacks. What isn't taken in full ends the transfer, as libcurl has it.

  private func receiveHeader(_ line: UnsafeRawBufferPointer) -> Int {
    headerBytes += Int64(line.count)
    do throws(HeadFailure) {
      if tunnel?.isConnected == false {
        // What follows is discarded; libcurl ends the transfer by itself.
        if let head = try tunnel?.append(line) { _ = client()?.transfer(id, answered: head) }
        return line.count
      }
      guard let head = try reader.append(line) else { return line.count }
      guard let client = client() else { return 0 }
      verdict = client.transfer(id, answered: head)
      if verdict == .abort || isCancelled { abort = .byClient }
      return abort == nil ? line.count : 0
    } catch {
      abort = .hostile(error)
      if !isBeforeOrigin { client()?.transfer(id, sentHostileHead: error, overHTTP2: reader.isHTTP2) }
      return 0
    }
  }

  private func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
    if isCancelled { return 0 }
    guard verdict == .take else {
      bodyBytes += Int64(bytes.count)
      drained += bytes.count
      return drained <= Self.drainLimit ? bytes.count : 0
    }
    switch client()?.transfer(id, received: bytes) ?? .abort {
    case .taken:
      bodyBytes += Int64(bytes.count)
      return bytes.count
    case .pause:
      return Int(CURL_WRITEFUNC_PAUSE)
    case .abort:
      abort = .byClient
      return 0
    }
  }

  private func openSocket(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
    // Behind a proxy the target's address can't be seen; the proxy itself is the administrator's choice.
    if !usesProxy {
      let target = withUnsafePointer(to: &address.pointee.addr) { NetworkAddress($0) }
      guard let target else {
        return refuse(AddressRefusal(address: nil, reason: "an address of family \(address.pointee.family)"))
      }
      if let refusal = refusal(of: target) { return refuse(refusal) }
    }
    let opened = socket(
      address.pointee.family, address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue), address.pointee.protocol)
    if opened >= 0 { use.open(opened) }
    return opened
  }

  private func refusal(of address: NetworkAddress) -> AddressRefusal? {
    addresses.rejectionReason(for: address).map { AddressRefusal(address: address, reason: $0) }
  }

  private func refuse(_ refusal: AddressRefusal) -> curl_socket_t {
    self.refusal = refusal
    return curl_socket_t(-1)
  }

  /// The last moment before the request is sent: what lies on the connection by now isn't its answer.
  private func mayAsk(_ ends: KeptSockets.Ends) -> Bool {
    use.connect(between: ends)
    use.isSpoilt = !use.isNew && !use.kept.isQuiet(ends, of: easy, mayBeHTTP2: request.mayBeHTTP2)
    return !use.isSpoilt && isStillAllowed(ends.remote)
  }

  /// The second look, at the address that is really connected: the connection may be an older one.
  private func isStillAllowed(_ remote: String) -> Bool {
    tunnel?.connected()
    client()?.transferConnected(id)
    if usesProxy { return true }
    guard let address = NetworkAddress(remote) else {
      refusal = AddressRefusal(address: nil, reason: "an unknown address")
      return false
    }
    refusal = refusal(of: address)
    return refusal == nil
  }

  // MARK: The end

  /// Of heads and bodies, wanted or not.
  var receivedBytes: Int64 { headerBytes + bodyBytes }

  private var usesProxy: Bool { proxy != nil }

  /// What goes wrong now is a proxy's doing: there is no tunnel yet, or no answer to a request that it passes on. Through SOCKS the
  /// origin is spoken to in the clear as well, once there is a connection.
  private var isBeforeOrigin: Bool {
    guard let proxy else { return false }
    if let tunnel { return !tunnel.isConnected }
    return verdict == nil && (use.ends == nil || !ProxyRules.isSOCKS(proxy))
  }

  func end(_ result: CURLcode) -> TransportEnd {
    var end = TransportEnd()
    end.receivedBytes = receivedBytes
    var text: UnsafeMutablePointer<CChar>?
    if oc_get_string(easy, CURLINFO_PRIMARY_IP, &text) == CURLE_OK, let text {
      end.remoteAddress = String(cString: text)
    }
    if request.looksAtChainOnly { end.chain = CurlIdentity.chain(of: easy) }
    if use.isSpoilt {
      (end.problem, end.cameTooLate) = (.reset, true)
      end.message = "more came on the connection than its last answer"
      return end
    }
    if result == CURLE_OK, verdict == nil, !request.looksAtChainOnly {
      // For libcurl the end of a connection ends a head as well as a body: nothing that was meant is known.
      end.problem = ofProxy(.truncated)
      if end.problem == .proxy { end.message = "it ended the connection without a complete answer" }
      return end
    }
    // An unwanted body that was longer than is worth reading: not the peer's fault.
    if result == CURLE_OK || verdict == .drain && abort == nil { return end }
    end.brokeSending = result == CURLE_SEND_ERROR
    let detail = String(cString: handle.errorText)
    end.message = detail.isEmpty ? String(cString: curl_easy_strerror(result)) : detail
    end.cameTooLate = end.receivedBytes == 0 && CurlProblem.isGoingAway(result, detail)
    let fault = fault(result)
    if let fault, isBeforeOrigin {
      (end.problem, end.message) = (.proxy, fault.description)
    } else if abort != nil {
      end.problem = .aborted
    } else if let refusal {
      end.problem = .refusedAddress(refusal)
    } else if let fault {
      client()?.transfer(id, sentHostileHead: fault, overHTTP2: reader.isHTTP2)
      end.problem = .aborted
    } else {
      let problem = diagnosis(result, end.message) ?? CurlProblem.of(result, end.message)
      // Who asks again at once doesn't ask whose failure it was.
      end.problem = end.cameTooLate ? problem : ofProxy(problem)
      end.proxyStatus = tunnel?.unreachable
    }
    return end
  }

  /// The problem, or that it is the proxy's. A request that a proxy passes on brings an answer, if only 502 or 504; how long that
  /// takes is the origin's part, once the proxy is connected.
  private func ofProxy(_ problem: TransportEnd.Problem) -> TransportEnd.Problem {
    if let tunnel { return tunnel.problem(problem) }
    guard isBeforeOrigin, problem != .timeout || use.ends == nil else { return problem }
    return .proxy
  }

  private func diagnosis(_ code: CURLcode, _ message: String) -> TransportEnd.Problem? {
    guard request.url.scheme == "https" else { return nil }
    // What the library below refuses (floods, bombs) comes as an error of receiving.
    if message.contains("nghttp2") {
      return .http2(CurlProblem.isEnhanceYourCalm(message) ? .enhanceYourCalm : .connection)
    }
    var verification = 0
    oc_get_long(easy, CURLINFO_SSL_VERIFYRESULT, &verification)
    return TLSDiagnosis.problem(
      code, message: message, verification: verification, showedCertificate: request.clientCertificate != nil)
  }

  /// Why no head was taken.
  private func fault(_ code: CURLcode) -> HeadFailure? {
    if case .hostile(let failure)? = abort { return failure }
    return verdict == nil ? CurlProblem.ofHead(code, headerBytes: headerBytes) : nil
  }
}
