internal import AssetModel
internal import Basics
internal import Foundation
internal import LinuxSystem

/// A list of digests as sha256sum(1) prints it: a digest, a blank, a blank or an asterisk, and a name; or as BSD's programs
/// and `sha256sum --tag` do: `SHA256 (name) = digest`. A line whose name has a backslash or a line break begins with a
/// backslash, and has `\\`, `\n` and `\r` in their place.
struct FetchChecksums {
  let path: String
  private let digests: [ExactText: ContentDigest]

  init(_ path: String) throws {
    guard let identity = try? Files.identity(of: path), !identity.isDirectory,
      let file = FileHandle(forReadingAtPath: path), let data = try? file.read(upToCount: Self.longest + 1)
    else { throw Failure(66, "--checksums \(path): isn't a file that can be read, or is empty") }
    guard data.count <= Self.longest else {
      throw Failure(64, "--checksums \(path): has more than \(Self.longest >> 20) MiB")
    }
    self.path = path
    digests = try Self.digests(in: data, of: path)
    if digests.isEmpty { throw Failure(64, "--checksums \(path): lists no file") }
  }

  /// nil: it isn't listed.
  func digest(of name: String) -> ContentDigest? { digests[ExactText(name)] }

  private static let longest = 64 << 20
  private static let digits = 64

  static func digests(in data: Data, of path: String) throws(Failure) -> [ExactText: ContentDigest] {
    var digests: [ExactText: ContentDigest] = [:]
    let lines = data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
      if line.isEmpty || line.first == UInt8(ascii: "#") { continue }
      let place = "--checksums \(path), line \(index + 1)"
      guard let (digest, name) = entry(line) else {
        throw Failure(64, "\(place): isn't a SHA-256 and a name, as sha256sum or sha256sum --tag prints them")
      }
      guard let inside = inside(name) else {
        throw Failure(64, "\(place): '\(Printable.text(name))' lies outside of the directory that files go to")
      }
      let key = ExactText(inside)
      if let other = digests[key], other != digest {
        throw Failure(64, "\(place): '\(Printable.text(name))' is listed twice, with different digests")
      }
      digests[key] = digest
    }
    return digests
  }

  private static func entry(_ line: Data) -> (ContentDigest, String)? {
    let isEscaped = line.first == UInt8(ascii: "\\")
    let text = Array(isEscaped ? line.dropFirst() : line)
    guard let (hex, rawName) = tagged(text) ?? plain(text),
      let digest = ContentDigest(hex: String(decoding: hex, as: UTF8.self)), digest.algorithm == .sha256,
      let bytes = isEscaped ? unescaped(rawName) : Array(rawName), !bytes.isEmpty, !bytes.contains(0),
      let name = String(validating: bytes, as: UTF8.self)
    else { return nil }
    return (digest, name)
  }

  private typealias Parts = (hex: ArraySlice<UInt8>, name: ArraySlice<UInt8>)

  private static func plain(_ text: [UInt8]) -> Parts? {
    guard text.count > digits + 2, text[digits] == UInt8(ascii: " "), [0x20, 0x2a].contains(text[digits + 1]) else {
      return nil
    }
    return (text[..<digits], text[(digits + 2)...])
  }

  /// The name ends where the digest's place begins, whatever is in it.
  private static func tagged(_ text: [UInt8]) -> Parts? {
    let (start, middle) = (Array("SHA256 (".utf8), Array(") = ".utf8))
    let end = text.count - digits - middle.count
    guard end > start.count, text.starts(with: start), text[end...].starts(with: middle) else { return nil }
    return (text[(end + middle.count)...], text[start.count..<end])
  }

  /// nil: another letter follows a backslash.
  private static func unescaped(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
    var result: [UInt8] = []
    var rest = bytes
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\") else {
        result.append(byte)
        continue
      }
      switch rest.popFirst() {
      case UInt8(ascii: "\\"): result.append(UInt8(ascii: "\\"))
      case UInt8(ascii: "n"): result.append(UInt8(ascii: "\n"))
      case UInt8(ascii: "r"): result.append(UInt8(ascii: "\r"))
      default: return nil
      }
    }
    return result
  }

  /// The name without `./` before it; nil: it leads out of the directory.
  private static func inside(_ name: String) -> String? {
    let slash = UInt8(ascii: "/")
    guard name.utf8.first != slash else { return nil }
    let parts = name.utf8.split(separator: slash).map { String(decoding: $0, as: UTF8.self) }.filter { $0 != "." }
    guard !parts.isEmpty, !parts.contains("..") else { return nil }
    return parts.joined(separator: "/")
  }
}
