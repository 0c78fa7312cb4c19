internal import AppBundles
internal import AssetStore
internal import Basics
internal import Downloads
internal import LinuxSystem

/// Room for downloads: what carries the mark goes, the oldest first (B56, B57, B59).
final class SpaceReclaimer {
  private let clients: ClientRegistry
  private let runs: RunTable
  private let decider: Decider
  private let downloads: DownloadTable
  private let files: DownloadFiles
  private let news: ServiceNews
  private let plan: TransferPlan

  init(
    clients: ClientRegistry, runs: RunTable, decider: Decider, downloads: DownloadTable, files: DownloadFiles,
    news: ServiceNews, plan: TransferPlan
  ) {
    self.clients = clients
    self.runs = runs
    self.decider = decider
    self.downloads = downloads
    self.files = files
    self.news = news
    self.plan = plan
  }

  /// Without inodes it isn't bytes that count: so many files go at once.
  private static let filesAtOnce = 16

  /// A volume is short. Returns when what can go has gone: whether something has.
  func makeRoom(_ shortage: SpaceShortage) async -> Bool {
    let groups = (try? Files.names(in: plan.groups))?.filter(Containers.isValid) ?? []
    let containers = groups.map(plan.container).filter {
      (try? Files.identity(of: $0))?.device == shortage.device
    }
    let found = await Task.detached {
      containers.flatMap { MarkedFiles(root: $0).candidates() }
    }.value
    let given = undelivered(on: shortage.device)
    // From here on no app connects and no extension starts: nothing is awaited.
    let inUse = containersInUse
    let all = (found + given.map(\.file)).filter { file in !inUse.contains { Self.isIn($0, file.directory) } }
    let chosen =
      shortage.lacksInodes
      ? Array(PurgePlanner.order(all).prefix(Self.filesAtOnce))
      : PurgePlanner.plan(all, free: shortage.free, target: shortage.purgeUntil)
    var (freed, removed): (Int64, Int) = (0, 0)
    for file in chosen {
      if let one = given.first(where: { $0.file == file }) {
        guard purge(one.app, one.download) else { continue }
      } else if let root = containers.first(where: { Self.isIn($0, file.directory) }) {
        guard MarkedFiles(root: root).remove(file) else { continue }
      }
      freed += file.size
      removed += 1
    }
    guard removed > 0 else { return false }
    let missing = max(0, shortage.purgeUntil - shortage.free - freed)
    news.log(
      nil, "purged", "\(removed) files, \(freed) bytes" + (missing > 0 ? "; \(missing) bytes are still missing" : ""))
    return true
  }

  private static func isIn(_ container: String, _ directory: String) -> Bool {
    directory.lies(in: container)
  }

  /// Of apps that are connected, or whose extension is at work: both may have a file open, or are about to look whether it is there.
  private var containersInUse: Set<String> {
    let apps = Set(clients.apps + runs.apps)
    return Set(apps.flatMap { decider.description(of: $0)?.appGroups ?? [] }.map(plan.container))
  }

  private struct Undelivered {
    var app: String
    var download: String
    var file: PurgeCandidate
  }

  /// Files that three recipients in a row ended over: no other one waits for them.
  private func undelivered(on device: UInt64) -> [Undelivered] {
    var found: [Undelivered] = []
    for (app, all) in downloads.byApp {
      for (unique, download) in all where download.isUndelivered && !download.isDiscarded {
        guard let file = try? Files.identity(of: plan.path(of: download.value)), file.device == device else { continue }
        let candidate = PurgeCandidate(
          directory: plan.directory(of: download.value), name: plan.fileName(of: download.value), inode: file.inode,
          size: file.size, lastUse: file.modified)
        found.append(Undelivered(app: app, download: unique, file: candidate))
      }
    }
    return found
  }

  /// Returns whether it is gone, or will be as soon as the engine has let go of it: while the journal can't say whether the engine
  /// has, it stays.
  private func purge(_ app: String, _ unique: String) -> Bool {
    do { try files.remove(app, unique) } catch { return false }
    downloads[app]?[unique]?.isDiscarded = true
    news.log(app, "purged", "the undelivered download \(unique)")
    return true
  }
}
