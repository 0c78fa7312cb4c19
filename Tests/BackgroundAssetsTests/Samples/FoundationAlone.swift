import Foundation

enum FoundationAlone {
  static func replace(_ old: URL, with new: URL) throws {
    _ = try FileManager.default.replaceItemAt(old, withItemAt: new)
  }

  static func replacementDirectory(for item: URL?) throws -> URL {
    try FileManager.default.url(for: .itemReplacementDirectory, in: .userDomainMask, appropriateFor: item, create: true)
  }

  static func container(of group: String) -> URL? {
    FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: group)
  }
}
