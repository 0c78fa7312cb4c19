/// A file name made from the last part of a URL's path; nothing in it can leave its directory or deceive an eye.
package enum SafeFileName {
  /// Bytes; filesystems take 255, and the rest is for what others append.
  static let longest = 200
  private static let longestExtension = 20

  /// Of an absolute URL, as unchecked text: the result is always a valid name.
  package static func from(url: String) -> String {
    let text = url.prefix { $0 != "?" && $0 != "#" }
    let behindScheme = text.firstRange(of: "://").map { text[$0.upperBound...] } ?? text
    return from(path: String(behindScheme.drop { $0 != "/" }))
  }

  /// Of a URL's path, percent-encoded as in the URL.
  package static func from(path: String) -> String {
    let last = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).last ?? path.utf8[...]
    return safe(String(decoding: decoded(last), as: UTF8.self)) ?? "download"
  }

  /// The last part of a URL's path as its server has it, which is no safe name. nil: it is none, even there.
  package static func unchanged(path: String) -> String? {
    let last = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).last ?? path.utf8[...]
    guard let name = String(validating: decoded(last), as: UTF8.self), !name.isEmpty,
      !name.utf8.contains(where: { $0 == 0 || $0 == UInt8(ascii: "/") })
    else { return nil }
    return name
  }

  /// Of a name that a server chose, as it is meant to be read: its last part, whichever slash is before that. nil:
  /// nothing of it is left.
  package static func from(name: String) -> String? {
    name.unicodeScalars.split { $0 == "/" || $0 == "\\" }.last.flatMap { safe(String($0)) }
  }

  private static func safe(_ text: String) -> String? {
    var scalars = text.unicodeScalars.map { isSafe($0) ? $0 : "_" }[...]
    // A leading dot hides a file, a leading dash is an option; what ends in a dot or a blank looks like another name.
    scalars = withoutTail(scalars.drop { $0 == "." || $0 == "-" || $0.properties.isWhitespace })
    return scalars.isEmpty ? nil : shortened(scalars)
  }

  private static func withoutTail(_ scalars: ArraySlice<Unicode.Scalar>) -> ArraySlice<Unicode.Scalar> {
    var scalars = scalars
    while let end = scalars.last, end == "." || end.properties.isWhitespace { scalars.removeLast() }
    return scalars
  }

  private static func isSafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "/", "\\", "\0", "\u{fffd}": false
    // Nothing that can't be seen, and nothing that `Printable` would have to escape.
    default:
      !scalar.properties.isDefaultIgnorableCodePoint && Printable.text(String(scalar)).unicodeScalars.first == scalar
    }
  }

  /// Keeps the extension, and cuts between scalars.
  private static func shortened(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
    func count(_ part: ArraySlice<Unicode.Scalar>) -> Int { part.reduce(0) { $0 + UTF8.width($1) } }
    let dot = scalars.lastIndex(of: ".") ?? scalars.endIndex
    // Of two parts where an archive is compressed: .tar.gz.
    let isArchive = scalars[..<dot].suffix(4).elementsEqual(".tar".unicodeScalars)
    var end = scalars[(isArchive ? dot - 4 : dot)...]
    if count(end) > longestExtension { end = [] }
    guard count(scalars) > longest else { return String(String.UnicodeScalarView(scalars)) }
    var room = longest - count(end)
    let stem = scalars.dropLast(end.count).prefix {
      room -= UTF8.width($0)
      return room >= 0
    }
    return String(String.UnicodeScalarView(withoutTail(stem) + end))
  }

  /// Percent-decoded once; what comes out encoded stays so.
  private static func decoded(_ text: Substring.UTF8View) -> [UInt8] {
    let bytes = Array(text)
    var result: [UInt8] = []
    var index = 0
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count, let high = digit(bytes[index + 1]),
        let low = digit(bytes[index + 2])
      {
        result.append(high << 4 | low)
        index += 3
      } else {
        result.append(bytes[index])
        index += 1
      }
    }
    return result
  }

  private static func digit(_ byte: UInt8) -> UInt8? { Character(Unicode.Scalar(byte)).hexDigitValue.map { UInt8($0) } }
}
