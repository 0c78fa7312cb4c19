internal import Glibc

/// A machine as a policy names it: by a name, which the host resolves, or by an address.
public struct NetworkHost: Sendable, Hashable {
  /// A name in small letters, or an address as inet_ntop(3) writes it, without brackets.
  public let text: String
  /// 4 or 16 bytes; nil: it is a name.
  package let address: [UInt8]?

  /// Why a text names no host that a plugin may be given.
  public struct Invalid: Error, Sendable, Equatable {
    /// One sentence without its subject.
    public let message: String
  }

  /// Reads a name or an address.
  ///
  /// - Parameter text: As in a policy; an address of version 6 without brackets.
  /// - Throws: `Invalid` with what is wrong.
  public init(_ text: String) throws(Invalid) {
    if let bytes = Self.address(text) {
      if let reason = Self.rejectionReason(forAddress: bytes) { throw Invalid(message: reason) }
      (self.text, address) = (Self.text(of: bytes), bytes)
    } else {
      if let reason = Self.rejectionReason(forName: text) { throw Invalid(message: reason) }
      (self.text, address) = (text.lowercased(), nil)
    }
  }

  /// An address in its usual form; nil: it isn't one.
  private static func address(_ text: String) -> [UInt8]? {
    guard text.utf8.count < 64, !text.utf8.contains(0) else { return nil }
    var bytes = [UInt8](repeating: 0, count: 16)
    if inet_pton(AF_INET, text, &bytes) == 1 { return Array(bytes.prefix(4)) }
    return inet_pton(AF_INET6, text, &bytes) == 1 ? bytes : nil
  }

  /// Of 4 or 16 bytes, as inet_ntop(3) writes it.
  package static func text(of address: [UInt8]) -> String {
    var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard inet_ntop(address.count == 4 ? AF_INET : AF_INET6, address, &buffer, socklen_t(buffer.count)) != nil else {
      return ""
    }
    return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private static func rejectionReason(forAddress bytes: [UInt8]) -> String? {
    if bytes.count == 4 {
      switch bytes[0] {
      case 0: return "is no machine's address"
      case 224...: return "is no single machine's address"
      default: return nil
      }
    }
    if bytes.allSatisfy({ $0 == 0 }) { return "is no machine's address" }
    if bytes[0] == 0xff { return "is no single machine's address" }
    if bytes[0] == 0xfe, bytes[1] & 0xc0 == 0x80 { return "is link-local: it means another machine on each interface" }
    if bytes.starts(with: [UInt8](repeating: 0, count: 10) + [0xff, 0xff]) {
      return "is an address of version 4; write \(text(of: Array(bytes.suffix(4))))"
    }
    return nil
  }

  /// RFC 1123, 2.1: letters, digits and hyphens. Other characters would mean something else to each resolver.
  private static func rejectionReason(forName text: String) -> String? {
    let labels = text.split(separator: ".", omittingEmptySubsequences: false)
    guard !text.isEmpty else { return "is empty" }
    guard text.utf8.count <= 253 else { return "has \(text.utf8.count) bytes; a host's name has at most 253" }
    guard text.utf8.allSatisfy({ $0 < 0x80 }) else {
      return "has characters beyond ASCII; write its name as xn--…"
    }
    for label in labels {
      guard !label.isEmpty else { return "has an empty part between dots" }
      guard label.utf8.count <= 63 else { return "has a part of more than 63 bytes" }
      guard label.utf8.allSatisfy({ isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "-") }) else {
        return "is no host's name: letters, digits and '-', with dots between"
      }
      guard !label.hasPrefix("-"), !label.hasSuffix("-") else { return "has a part that begins or ends with '-'" }
    }
    // What a resolver might take for an address: 127.1, 2130706433, 0x7f.1.
    guard let last = labels.last, last.utf8.contains(where: { !isDigit($0) }), !last.lowercased().hasPrefix("0x") else {
      return "is no address in its usual form, and no name"
    }
    return nil
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
  private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7a).contains(byte | 0x20) }
}
