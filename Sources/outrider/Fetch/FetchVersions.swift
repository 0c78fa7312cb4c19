internal import AssetModel
internal import Basics
internal import Downloads
internal import LinuxSystem
internal import Synchronization

/// The versions that are there already of files that are asked for again, by their paths. The engine's thread asks.
final class FetchVersions: Sendable {
  private struct State {
    var known: [ExactText: KnownVersion] = [:]
    var replaceable: [ExactText: FileVersion] = [:]
  }
  private let state = Mutex(State())
  private let mode: FetchMode

  init(_ mode: FetchMode) { self.mode = mode }

  func know(_ version: KnownVersion, at path: String) { state.withLock { $0.known[ExactText(path)] = version } }

  func replace(_ version: FileVersion, at path: String) { state.withLock { $0.replaceable[ExactText(path)] = version } }

  func known(_ specification: DownloadSpecification) -> KnownVersion? {
    state.withLock { $0.known[ExactText(specification.identifier)] }
  }

  /// The name of the file that is brought up to date: where it was left, whichever name its server gives it now. nil:
  /// it is fetched anew.
  func keptName(_ specification: DownloadSpecification) -> String? {
    guard mode == .ifChanged, let version = replaceable(specification) else { return nil }
    return version.name ?? specification.fileName
  }

  /// Under the name that its URL gives it, --force replaces any file: the user named that. Otherwise what is there
  /// has to be still what an earlier run left.
  func mayReplace(_ specification: DownloadSpecification) -> Bool {
    let path = "\(specification.directory)/\(specification.fileName)"
    let isOwn = path.isExactly(specification.identifier)
    switch mode {
    case .keep: return false
    case .force where isOwn, .ownPlace where isOwn: return true
    case .force, .ifChanged, .ownPlace: break
    }
    guard let version = replaceable(specification), let found = try? Files.identity(of: path), found.isRegularFile
    else {
      return false
    }
    return FileVersion(found, name: isOwn ? nil : specification.fileName) == version
  }

  private func replaceable(_ specification: DownloadSpecification) -> FileVersion? {
    state.withLock { $0.replaceable[ExactText(specification.identifier)] }
  }
}
