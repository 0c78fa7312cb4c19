internal import AssetStore
internal import Basics
internal import Foundation
internal import LinuxSystem

/// The state of the command line's own downloads.
enum FetchState {
  static func directory(_ chosen: String?) throws -> String {
    if let chosen { return try FetchPath.absolute(chosen, "--state \(chosen)") }
    // A network may be asked for the account.
    guard let base = base(ProcessInfo.processInfo.environment, accountHome: Account.home(of: geteuid())) else {
      throw Failure(64, "neither XDG_STATE_HOME nor HOME is an absolute path; name a folder with --state")
    }
    return "\(base)/outrider/fetch"
  }

  /// Foundation asks the account for its home, whatever HOME says; other programs ask HOME first.
  static func base(_ environment: [String: String], accountHome: @autoclosure () -> String?) -> String? {
    if let state = environment["XDG_STATE_HOME"], state.isAbsolutePath { return state }
    if let home = environment["HOME"], home.isAbsolutePath { return "\(home)/.local/state" }
    return accountHome().flatMap { $0.isAbsolutePath ? "\($0)/.local/state" : nil }
  }

  /// Commands that may run side by side with the default folder: each has a journal of its own. `first` is the default.
  static func folders(_ first: String) -> [String] { [first] + (2...16).map { "\(first)-\($0)" } }

  struct Opened {
    var store: AssetStore
    var directory: String
    /// The other default folders, whether they are there or not: one may be made any moment.
    var siblings: [String] = []
    /// Where commands take turns; nil: this one is alone with its folder.
    var turns: String?
    /// Who has the default folder.
    var holder: StoreHolder?
  }

  /// The journal in a folder, for a command that can't mend it.
  static func journal(
    in folder: String, _ options: AssetStore.Options = AssetStore.Options()
  ) throws(StoreError) -> AssetStore {
    do throws(StoreError) { return try AssetStore(opening: folder, options: options) } catch {
      guard case .corrupt(let path, let why, let copy) = error else { throw error }
      let remedy = "'outrider fetch … --start-fresh' puts its last backup, or an empty one, in its place"
      throw .unusable(
        path: path, why: "it is damaged (\(why))", remedy: copy.isEmpty ? remedy : "a copy is at \(copy); \(remedy)")
    }
  }

  /// Opens the chosen folder or, of the default ones, the first that no other process has open.
  static func open(_ chosen: String?, _ options: AssetStore.Options) throws -> Opened {
    let first = try directory(chosen)
    let folders = chosen == nil ? folders(first) : [first]
    var refusal: StoreError?
    for folder in folders {
      do {
        try Files.makeDirectories(folder, mode: 0o700)
      } catch {
        throw Failure(73, "the state folder can't be made: \(error); name another with --state")
      }
      do throws(StoreError) {
        let store = try AssetStore(opening: folder, options: options)
        return Opened(
          store: store, directory: folder, siblings: folders.filter { $0 != folder },
          turns: folders.count > 1 ? first : nil, holder: folder == first ? nil : AssetStore.holder(of: first))
      } catch {
        guard case .heldBy = error else { throw error }
        refusal = refusal ?? error
      }
    }
    throw refusal
      ?? StoreError.unusable(path: first, why: "every journal is in use", remedy: "name another state folder")
  }
}
