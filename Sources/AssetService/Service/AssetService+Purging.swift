internal import AppBundles
internal import AssetModel
internal import AssetStore
internal import Downloads
internal import Foundation
internal import Glibc
internal import LinuxSystem
internal import Logging
internal import ServiceMachines
internal import ServiceProtocol

/// Room for downloads: what carries the mark goes, the oldest first (B56, B57, B59).
extension AssetService {
  /// Without inodes it isn't bytes that count: so many files go at once.
  private static let filesAtOnce = 16

  /// A volume is short. Returns when what can go has gone: whether something has.
  @discardableResult
  func makeRoom(_ shortage: SpaceShortage) async -> Bool {
    let groups = (try? Files.names(in: configuration.paths.groups))?.filter(Containers.isValid) ?? []
    let containers = groups.map { plan.container(of: $0) }.filter {
      (try? Files.identity(of: $0))?.device == shortage.device
    }
    let found = await Task.detached {
      containers.flatMap { MarkedFiles(root: $0).candidates(isPinned: false) }
    }.value
    let given = undelivered(on: shortage.device)
    // From here on nobody connects and no extension starts: nothing is awaited.
    let inUse = containersInUse
    let all = (found + given.map(\.file)).filter { file in !inUse.contains { Self.isIn($0, file.directory) } }
    let chosen =
      shortage.lacksInodes
      ? Array(PurgePlanner.order(all).prefix(Self.filesAtOnce))
      : PurgePlanner.plan(all, free: shortage.free, target: shortage.purgeUntil)
    var (freed, removed): (Int64, Int) = (0, 0)
    for file in chosen {
      if let one = given.first(where: { $0.file == file }) {
        purge(one.app, one.download)
      } else if let root = containers.first(where: { Self.isIn($0, file.directory) }) {
        guard MarkedFiles(root: root).remove(file) else { continue }
      }
      freed += file.size
      removed += 1
    }
    guard removed > 0 else { return false }
    let missing = max(0, shortage.purgeUntil - shortage.free - freed)
    log(nil, "purged", "\(removed) files, \(freed) bytes" + (missing > 0 ? "; \(missing) bytes are still missing" : ""))
    return true
  }

  private static func isIn(_ container: String, _ directory: String) -> Bool {
    directory == container || directory.hasPrefix(container + "/")
  }

  /// Of apps that are connected, or whose extension is at work: both may have a file open, or are about to look whether it is there.
  private var containersInUse: Set<String> {
    let connected = clients.clients.values.compactMap { client -> String? in
      if case .app(let app) = client.identity { app } else { nil }
    }
    let apps = Set(connected + runs.values.filter(\.isAtWork).map(\.app))
    return Set(apps.flatMap { description(of: $0)?.appGroups ?? [] }.map { plan.container(of: $0) })
  }

  private struct Undelivered {
    var app: String
    var download: String
    var file: PurgeCandidate
  }

  /// Files that three recipients in a row ended over: nobody else waits for them.
  private func undelivered(on device: UInt64) -> [Undelivered] {
    var found: [Undelivered] = []
    for (app, all) in downloads {
      for (unique, download) in all where download.isUndelivered && !download.isDiscarded {
        guard let file = try? Files.identity(of: plan.path(of: download.value)), file.device == device else { continue }
        let candidate = PurgeCandidate(
          kind: .finished, directory: plan.directory(of: download.value), name: plan.fileName(of: download.value),
          inode: file.inode, size: file.size, lastUse: file.modified)
        found.append(Undelivered(app: app, download: unique, file: candidate))
      }
    }
    return found
  }

  private func purge(_ app: String, _ unique: String) {
    downloads[app]?[unique]?.isDiscarded = true
    discard(app, unique)
    log(app, "purged", "the undelivered download \(unique)")
  }

  /// From now on the file may be purged, wherever it is moved (B56). Before anybody is told of it, so that there is no moment
  /// at which it is somebody's without the mark.
  func mark(_ path: String) {
    guard let file = try? OwnedDescriptor.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else { return }
    do throws(SystemCallError) {
      if try !PurgeMark.set(on: file) {
        configuration.logger.debug("\(path) can't be purged: its volume keeps no attributes of users")
      }
    } catch {
      configuration.logger.warning("\(path) isn't marked as purgeable: \(error)")
    }
  }
}
