internal import AssetModel
internal import Basics
internal import Downloads
internal import Foundation
internal import LinuxSystem
internal import Sandbox

/// What a command and its environment come to for the engine.
enum FetchOptions {
  static func engine(
    _ command: FetchCommand, _ identity: FetchIdentity?, schemes: Set<String>
  ) throws -> EngineOptions {
    var addresses = AddressPolicy()
    addresses.allowsLoopback = true
    addresses.allowsPrivate = command.requests.allowPrivate
    var hosts = HostRules()
    hosts.allowsPlainHTTPToLoopback = true
    hosts.allowsAnyPort = true
    hosts.allowsAddressLiterals = true
    var transport = TransportOptions(addresses: addresses, hosts: hosts)
    transport.userAgent = try userAgent(command.requests.userAgent)
    if let limit = command.pace.connectLimit { transport.connectTimeout = limit }
    let environment = ProcessInfo.processInfo.environment
    transport.authorityFile = try authorities(command.requests.cacert, environment)
    let proxies = try proxies(environment, schemes: schemes)
    (transport.proxy, transport.plainProxy) = (proxies.secure, proxies.plain ?? "")
    transport.noProxy = environment["no_proxy"] ?? environment["NO_PROXY"] ?? ""
    var options = EngineOptions(transport: transport)
    options.fileMode = 0o666 & ~mask()
    // What other commands left waits for them.
    options.takesUpOpenJobs = false
    // The user named the file: one that isn't there is told at once.
    options.retestsPublication = false
    // A person chose the volume, which may be small; a body without end must not take all of a large one.
    options.freeSpace = FreeSpacePolicy(minimum: 1 << 20, percent: 3, maximum: 512 << 20)
    options.attemptLimit = command.pace.retry.map { $0 + 1 }
    if let text = command.pace.limitRate {
      guard let rate = Quantity.bytes(text) else {
        throw Failure(64, "--limit-rate '\(text)' isn't a rate, for example 2MB")
      }
      options.bytesPerSecond = Int64(rate)
    }
    options.answerChallenge = identity?.answer
    options.clientCertificate = identity?.clientCertificate
    return options
  }

  private static func userAgent(_ text: String?) throws -> String {
    guard let text else { return "outrider/0.1" }
    if DownloadRules.rejectionReason(forHeader: Download.Header(name: "User-Agent", value: text)) != nil
      || text.utf8.count > longestUserAgent
    {
      throw Failure(64, "--user-agent: isn't one line of at most \(longestUserAgent) bytes")
    }
    return text
  }

  private static let longestUserAgent = 1024

  /// The user's file mode creation mask; there is no way to read it but to set it, and no file is made meanwhile.
  private static func mask() -> UInt32 {
    let mask = umask(0o077)
    umask(mask)
    return mask
  }

  /// Of each scheme; nil: none.
  struct Proxies: Equatable {
    var secure: String?
    var plain: String?
  }

  /// As curl chooses. One that can't be used is an error where URLs of the command need it.
  static func proxies(_ environment: [String: String], schemes: Set<String> = ["https"]) throws -> Proxies {
    func first(_ names: [String]) -> String? { names.first { environment[$0]?.isEmpty == false } }
    // Not HTTP_PROXY: to a program that a web server starts, a request's `Proxy:` field would be that.
    let plain = first(["http_proxy", "all_proxy", "ALL_PROXY"])
    let secure = first(["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])
    var proxies = Proxies()
    if let secure {
      do { proxies.secure = try proxy(environment, secure) } catch {
        if schemes.contains("https") { throw error }
        // A redirect may need it, and mustn't go without: a name that never is one (RFC 6761, 6.4).
        proxies.secure = "http://unusable-https-proxy.invalid:1"
      }
    }
    // Nothing leads from https to plain http.
    if let plain, schemes.contains("http") { proxies.plain = try proxy(environment, plain) }
    return proxies
  }

  /// What libcurl can't use would look to every download like a network that fails. The value isn't shown: it may have a
  /// password in it.
  private static func proxy(_ environment: [String: String], _ name: String) throws -> String {
    let value = environment[name] ?? ""
    // Without a scheme it is http.
    guard let url = try? ParsedURL(value.contains("://") ? value : "http://\(value)"), !url.host.isEmpty,
      proxySchemes.contains(url.scheme)
    else {
      throw Failure(
        64,
        "the environment's \(name) isn't the URL of a proxy; write http://HOST:PORT "
          + "(or https, socks4, socks4a, socks5, socks5h)")
    }
    return value
  }

  static func hasCredential(_ proxy: String?) -> Bool {
    guard let proxy else { return false }
    return (try? ParsedURL(proxy.contains("://") ? proxy : "http://\(proxy)"))?.hasUserInfo ?? false
  }

  private static let proxySchemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

  /// The file that was named, or the environment's (SSL_CERT_FILE, as OpenSSL and curl have it).
  private static func authorities(_ named: String?, _ environment: [String: String]) throws -> String? {
    let variable = "SSL_CERT_FILE"
    guard let path = named ?? environment[variable].flatMap({ $0.isEmpty ? nil : $0 }) else { return nil }
    let place = named == nil ? "the environment's \(variable), \(path)" : "--cacert \(path)"
    guard let identity = try? Files.identity(of: path), identity.isRegularFile else {
      throw Failure(66, "\(place): \(InputFile.problem(path) ?? "isn't a regular file")")
    }
    guard let content = try? Files.content(of: path, limit: longestAuthorities) else {
      throw Failure(66, "\(place): \(InputFile.problem(path) ?? "has more than \(longestAuthorities >> 20) MiB")")
    }
    switch AuthorityText(content) {
    case .certificates: return path
    case .none: throw Failure(66, "\(place): there is no certificate in it, as PEM (-----BEGIN CERTIFICATE-----)")
    case .damaged(let line):
      throw Failure(66, "\(place): the block that begins in line \(line) is no certificate; remove it, or mend it")
    }
  }

  private static let longestAuthorities = 16 << 20
}
