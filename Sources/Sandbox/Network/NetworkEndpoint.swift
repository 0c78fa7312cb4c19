internal import Basics

/// One port of one machine, to which a plugin may open TCP connections through its host.
public struct NetworkEndpoint: Sendable, Hashable {
  /// The machine.
  public let host: NetworkHost
  /// From 1.
  public let port: UInt16

  /// A policy with those that it extends has at most so many.
  public static let maxCount = 64

  /// Creates an endpoint.
  ///
  /// - Parameters:
  ///   - host: The machine.
  ///   - port: From 1.
  public init(host: NetworkHost, port: UInt16) { (self.host, self.port) = (host, port) }

  /// Reads `NAME:PORT`, `1.2.3.4:PORT` or `[2001:db8::1]:PORT`.
  ///
  /// - Parameter text: As in a policy.
  /// - Throws: `NetworkHost.Invalid` with what is wrong.
  public init(_ text: String) throws(NetworkHost.Invalid) {
    let (host, port) = try Self.parts(text)
    self.init(host: try NetworkHost(host), port: try Self.port(port))
  }

  private static func parts(_ text: String) throws(NetworkHost.Invalid) -> (String, String) {
    guard let colon = text.lastIndex(of: ":") else {
      throw .init(message: "has no port; write example.org:443, or {host: example.org, ports: [80, 443]}")
    }
    let (host, port) = (text[..<colon], String(text[text.index(after: colon)...]))
    if host.hasPrefix("["), host.hasSuffix("]") {
      let inner = String(host.dropFirst().dropLast())
      guard inner.contains(":") else { throw .init(message: "has brackets around what is no address of version 6") }
      return (inner, port)
    }
    guard !host.contains(":") else {
      throw .init(message: "is no NAME:PORT; an address of version 6 stands in brackets, as in [2001:db8::1]:443")
    }
    return (String(host), port)
  }

  /// A port in decimal digits.
  package static func port(_ text: String) throws(NetworkHost.Invalid) -> UInt16 {
    let isPlain = DecimalText.isDigits(text) && text.utf8.first != 0x30
    guard isPlain, text.utf8.count <= 5, let port = UInt16(text) else {
      throw .init(message: "has no port from 1 to 65535 in decimal digits")
    }
    return port
  }

  /// As a policy has it.
  public var text: String { host.address?.count == 16 ? "[\(host.text)]:\(port)" : "\(host.text):\(port)" }
}
