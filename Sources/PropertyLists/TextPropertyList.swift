/// A look at a property list in text before Foundation decodes it. Both of its parsers call themselves for every level; those of
/// Swift 6.3 stop at 512 levels, which isn't documented.
enum TextPropertyList {
  /// Of the old format, where nothing but a whole parser could tell a bracket within a string: all of them together.
  static let maxOldStyleContainers = 512

  static func check(_ bytes: [UInt8]) throws(PropertyList.ReadError) {
    // In any other encoding brackets could be spelled in ways that this look doesn't see.
    guard !bytes.contains(0), String(validating: bytes, as: UTF8.self) != nil else { throw .notUTF8 }
    var text = bytes[...]
    if text.starts(with: [0xef, 0xbb, 0xbf]) { text = text.dropFirst(3) }
    text = text.drop(while: isBlank)
    guard text.first == UInt8(ascii: "<") else {
      let opening = text.count { $0 == UInt8(ascii: "(") || $0 == UInt8(ascii: "{") }
      guard opening <= maxOldStyleContainers else { throw .tooManyContainers }
      return
    }
    try checkEncoding(text)
    try checkDepth(text)
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }

  /// The declaration may name another encoding, and Foundation would follow it.
  private static func checkEncoding(_ text: ArraySlice<UInt8>) throws(PropertyList.ReadError) {
    guard text.starts(with: Array("<?xml".utf8)) else { return }
    let declaration = String(decoding: text.prefix { $0 != UInt8(ascii: ">") }, as: UTF8.self).lowercased()
    guard let name = declaration.firstRange(of: "encoding") else { return }
    let value = declaration[name.upperBound...].drop { " \t\r\n=".contains($0) }
    guard let quote = value.first, quote == "\"" || quote == "'" else { throw .notUTF8 }
    guard ["utf-8", "utf8", "us-ascii", "ascii"].contains(String(value.dropFirst().prefix { $0 != quote })) else {
      throw .notUTF8
    }
  }

  /// Elements within each other, comments and the like left out as Foundation leaves them out. Where the two would differ,
  /// Foundation's parser ends with an error.
  private static func checkDepth(_ text: ArraySlice<UInt8>) throws(PropertyList.ReadError) {
    var depth = 0
    var rest = text
    while let start = rest.firstIndex(of: UInt8(ascii: "<")) {
      rest = rest[start...].dropFirst()
      if skip(&rest, from: "!--", to: "-->") || skip(&rest, from: "![CDATA[", to: "]]>")
        || skip(&rest, from: "?", to: "?>")
      {
        continue
      }
      guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return }
      let tag = rest[..<end]
      rest = rest[end...].dropFirst()
      if tag.first == UInt8(ascii: "/") {
        depth = max(0, depth - 1)
      } else if tag.last != UInt8(ascii: "/"), tag.first != UInt8(ascii: "!") {
        depth += 1
        // The element <plist> and a key or value are levels here.
        guard depth <= PropertyList.maxDepth + 2 else { throw .tooDeep }
      }
    }
  }

  private static func skip(_ rest: inout ArraySlice<UInt8>, from opening: String, to closing: String) -> Bool {
    guard rest.starts(with: opening.utf8) else { return false }
    let behind = rest.dropFirst(opening.utf8.count)
    let end = Array(closing.utf8)
    var place = behind.startIndex
    while place < behind.endIndex {
      guard let next = behind[place...].firstIndex(of: end[0]) else { break }
      if behind[next...].starts(with: end) {
        rest = behind[(next + end.count)...]
        return true
      }
      place = next + 1
    }
    rest = behind[behind.endIndex...]
    return true
  }
}
