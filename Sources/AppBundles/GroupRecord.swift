internal import Foundation
internal import Glibc
internal import LinuxSystem

/// `ROOT/ID/.groups`: the app groups of an app's earlier versions. A group stays its app's, with the files in it, until that is removed,
/// though no version that is there declares it any more. Each version that is there is the record of its own groups: this one is
/// written before a version goes, so that a kill at any moment loses none. No version's name begins with a dot.
enum GroupRecord {
  private static let name = ".groups"
  /// Of what is renamed to it; a killed sweep leaves one.
  private static let draftPrefix = ".groups-"
  private static let longest = 1 << 20

  static func isDraft(_ name: String) -> Bool { name.hasPrefix(draftPrefix) }

  /// - Parameter folder: of an app. Without a record it has no earlier version whose groups aren't those of a later one.
  /// - Throws: `.unreadable` for what isn't such a record: whose groups those were isn't known then.
  static func read(_ identifier: String, in folder: String) throws(BundleError) -> Set<String> {
    let file = "\(folder)/\(name)"
    let remedy = "uninstall \(identifier), then install it again"
    do throws(SystemCallError) {
      let opened = try OwnedDescriptor.open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      let bytes = try opened.readAll(limit: longest + 1)
      if bytes.count <= longest, let groups = try? JSONDecoder().decode([String].self, from: Data(bytes)),
        groups.allSatisfy(BundleNames.isGroup), zip(groups, groups.dropFirst()).allSatisfy({ $0 < $1 })
      {
        return Set(groups)
      }
    } catch {
      if error.code == ENOENT { return [] }
      throw BundleError(
        .unreadable, file, "the record of the app groups of \(identifier): \(SystemCallError.message(error.code))",
        remedy: remedy)
    }
    throw BundleError(.unreadable, file, "isn't a record of the app groups of \(identifier)", remedy: remedy)
  }

  /// Called with the root's lock.
  static func write(_ groups: Set<String>, in folder: String) throws(SystemCallError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    guard let json = try? encoder.encode(groups.sorted()), json.count <= longest else {
      throw SystemCallError("encode", code: EFBIG, subject: "\(folder)/\(name)")
    }
    let opened = try OwnedDescriptor.open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    let draft = draftPrefix + String(UInt64.random(in: .min ... .max), radix: 36)
    do throws(SystemCallError) {
      let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
      let file = try OwnedDescriptor.open("\(folder)/\(draft)", flags, mode: 0o600)
      try file.write(String(decoding: json, as: UTF8.self))
      try SystemFiles().synchronize(file.number)
      try SystemFiles().replace(name, in: opened.number, by: draft, in: opened.number)
    } catch {
      unlinkat(opened.number, draft, 0)
      throw error
    }
    try SystemFiles().synchronize(opened.number)
  }

  /// Of an app that has no version any more.
  static func remove(in folder: String) { unlink("\(folder)/\(name)") }
}
