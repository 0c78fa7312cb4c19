internal import AssetModel
internal import Basics
internal import Foundation
internal import LinuxSystem

/// A list of digests as sha256sum(1) prints it: a digest, a blank, a blank or an asterisk, and a name; or as BSD's programs
/// and `sha256sum --tag` do: `SHA256 (name) = digest`. A line whose name has a backslash or a line break begins with a
/// backslash, and has `\\`, `\n` and `\r` in their place. With `sha256sum --zero` a zero byte ends each line, and nothing is replaced.
///
/// Lines about other digests are passed over where there are some of SHA-256. So is what OpenPGP puts around a text that it
/// signs (RFC 9580, 7); the signature isn't checked.
struct FetchChecksums {
  let path: String
  private let digests: [ExactText: ContentDigest]

  /// `path`: `-` is standard input.
  init(_ path: String) throws {
    let isInput = path == "-"
    guard isInput || (try? Files.identity(of: path))?.isDirectory == false,
      let file = isInput ? FileHandle.standardInput : FileHandle(forReadingAtPath: path),
      let data = try? file.read(upToCount: Self.longest + 1)
    else { throw Failure(66, "--checksums \(path): \(isInput ? "is empty" : InputFile.problem(path) ?? "is empty")") }
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
    var passedOver: ChecksumLines.Line?
    var unspeakable: ChecksumLines.Line?
    for line in ChecksumLines(data).lines {
      let place = "--checksums \(path), line \(line.number)"
      guard let (digest, bytes) = entry(line) else {
        guard otherKind(line.text) != nil else { throw Failure(64, "\(place): \(noEntry(line.text))") }
        passedOver = passedOver ?? line
        continue
      }
      // No file gets such a name here.
      guard let name = String(validating: bytes, as: UTF8.self) else {
        unspeakable = unspeakable ?? line
        continue
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
    if digests.isEmpty, let unspeakable {
      throw Failure(
        64, "--checksums \(path), line \(unspeakable.number): its name isn't UTF-8, and no other file is listed")
    }
    if digests.isEmpty, let passedOver {
      throw Failure(64, "--checksums \(path), line \(passedOver.number): \(noEntry(passedOver.text))")
    }
    return digests
  }

  private static func noEntry(_ text: Data) -> String {
    if let kind = otherKind(text) {
      return "is of \(kind), and of digests only SHA-256 is taken: sha256sum makes such a list"
    }
    let remedy = text.count == digits ? "; --sha256 takes a digest without a name" : ""
    return "isn't a SHA-256 and a name, as sha256sum or sha256sum --tag prints them" + remedy
  }

  /// What a line is of, where it is well formed and not of SHA-256: `MD5 (name) = …`, `SIZE (name) = …`, or as many digits as
  /// md5sum(1), sha1sum(1) and their like print, and a name.
  private static func otherKind(_ text: Data) -> String? {
    let text = text.first == UInt8(ascii: "\\") ? text.dropFirst() : text
    let word = String(decoding: text.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)
    let rest = text.dropFirst(word.utf8.count)
    if rest.starts(with: " (".utf8) {
      guard (2...16).contains(word.utf8.count), word.lowercased() != "sha256",
        rest.firstRange(of: Data(") = ".utf8)) != nil,
        word.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") })
      else { return nil }
      return word
    }
    guard rest.count > 2, rest.starts(with: "  ".utf8) || rest.starts(with: " *".utf8),
      word.allSatisfy({ $0.isASCII && $0.isHexDigit })
    else { return nil }
    return [32: "MD5", 40: "SHA-1", 56: "SHA-224", 96: "SHA-384", 128: "SHA-512"][word.utf8.count]
  }

  private static func entry(_ line: ChecksumLines.Line) -> (ContentDigest, name: [UInt8])? {
    let isEscaped = !line.isExact && line.text.first == UInt8(ascii: "\\")
    let text = Array(isEscaped ? line.text.dropFirst() : line.text)
    guard let (hex, rawName) = tagged(text) ?? plain(text),
      let digest = ContentDigest(hex: String(decoding: hex, as: UTF8.self)), digest.algorithm == .sha256,
      let bytes = isEscaped ? unescaped(rawName) : Array(rawName), !bytes.isEmpty, !bytes.contains(0)
    else { return nil }
    return (digest, bytes)
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
