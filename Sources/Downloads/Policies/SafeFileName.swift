internal import AssetModel

/// A file name made from the last part of a URL's path; nothing in it can leave its directory or deceive an eye.
public enum SafeFileName {
  static let longest = 200

  public static func from(url: ParsedURL) -> String {
    let last = url.path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    var name = ""
    for scalar in String(decoding: decoded(last), as: UTF8.self).unicodeScalars {
      switch scalar {
      case "/", "\\", "\0", "\u{fffd}": name.unicodeScalars.append("_")
      default: name += Printable.text(String(scalar)) == String(scalar) ? String(scalar) : "_"
      }
    }
    while let first = name.first, first == "." || first == "-" || first == " " { name.removeFirst() }
    while name.last == " " { name.removeLast() }
    return name.isEmpty ? "download" : shortened(name)
  }

  private static func shortened(_ name: String) -> String {
    guard name.utf8.count > longest else { return name }
    let dot = name.lastIndex(of: ".")
    var end = dot.map { String(name[$0...]) } ?? ""
    if end.utf8.count > 20 { end = "" }
    var stem = name.dropLast(end.count)
    while stem.utf8.count + end.utf8.count > longest { stem.removeLast() }
    return stem + end
  }

  private static func decoded(_ text: Substring) -> [UInt8] {
    func digit(_ byte: UInt8) -> UInt8? { Character(Unicode.Scalar(byte)).hexDigitValue.map { UInt8($0) } }
    let bytes = Array(text.utf8)
    var result: [UInt8] = []
    var index = 0
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count, let high = digit(bytes[index + 1]), let low = digit(bytes[index + 2]) {
        result.append(high << 4 | low)
        index += 3
      } else {
        result.append(bytes[index])
        index += 1
      }
    }
    return result
  }
}
