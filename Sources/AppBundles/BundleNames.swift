internal import AssetModel
internal import Basics

/// Names that a bundle gives and that become names of folders.
enum BundleNames {
  static let identifierRule = "letters, digits, '.', '-' and '_', beginning with a letter or digit, at most 200 bytes"
  static let versionRule = "letters, digits, '.', '-', '+' and '_', beginning with a letter or digit, at most 64 bytes"

  static func isIdentifier(_ text: String) -> Bool {
    isName(text, longest: 200, besides: ".-_") && !text.contains("..")
  }
  static func isVersion(_ text: String) -> Bool { isName(text, longest: 64, besides: ".-+_") && text != current }
  static func isGroup(_ text: String) -> Bool { isIdentifier(text) }

  /// The link to the version that counts lies beside the versions.
  static let current = "current"

  /// Of an app's or extension's folder.
  static func isBundle(_ name: String, suffix: String) -> Bool {
    name.hasSuffix(suffix) && name.utf8.count > suffix.utf8.count && name.utf8.count <= 200 && isFileName(name)
      && !name.hasPrefix(".")
  }

  /// One part of a path, with nothing that can't be seen or that reorders text.
  static func isFileName(_ name: String) -> Bool {
    !name.isEmpty && name != "." && name != ".." && name.utf8.count <= 255 && !name.hasSlash && isPlain(name)
  }

  static func isPlain(_ text: String) -> Bool { !text.unicodeScalars.contains(where: DownloadRules.isDeceptive) }

  private static func isName(_ text: String, longest: Int, besides: String) -> Bool {
    guard let first = text.utf8.first, isAlphanumeric(first), text.utf8.count <= longest else { return false }
    return text.utf8.allSatisfy { isAlphanumeric($0) || besides.utf8.contains($0) }
  }

  static func isAlphanumeric(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: false
    }
  }
}
