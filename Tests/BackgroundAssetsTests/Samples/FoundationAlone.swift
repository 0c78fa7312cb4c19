import Foundation

enum FoundationAlone {
  static func replace(_ old: URL, with new: URL) throws {
    _ = try FileManager.default.replaceItemAt(old, withItemAt: new)
  }
}
