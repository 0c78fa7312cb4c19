internal import AssetModel
internal import AssetStore
internal import Downloads
internal import Foundation
internal import LinuxSystem
internal import Sandbox
internal import Synchronization

/// One `outrider fetch`: its jobs from the journal, the engine, and what people see of it.
final class FetchSession: Sendable {
  private let command: FetchCommand
  private let plan: FetchPlan
  private let store: AssetStore
  private let engine: DownloadEngine
  private let stopped = Mutex<Int32?>(nil)

  init(_ command: FetchCommand, _ plan: FetchPlan) throws {
    Memory.keepSmall()
    self.command = command
    self.plan = plan
    let directory = try FetchState.directory(command.state)
    do {
      try Files.makeDirectories(directory, mode: 0o700)
    } catch {
      throw Failure(73, "the state folder can't be made: \(error); name another with --state")
    }
    var options = AssetStore.Options()
    options.startFresh = command.startFresh
    // Whoever types them, or lists them in a file, may have many.
    options.mostOpenJobsPerApp = 1_000_000
    store = try AssetStore(opening: directory, options: options)
    Self.tell(store.recovery)
    engine = try DownloadEngine(journal: store, options: try Self.options(command, plan))
  }

  /// Settled downloads that `explain` can still tell of.
  private static let keptDownloads = 10_000

  private static func tell(_ recovery: AssetStore.Recovery) {
    guard let damage = recovery.damage else { return }
    let place =
      if let made = recovery.backupMade {
        "its backup of \(Date(timeIntervalSince1970: Double(made) / 1e9).formatted(.iso8601)) took its place"
      } else { "an empty one took its place" }
    Output.note("the journal was damaged (\(damage)); a copy is at \(recovery.copy ?? "no place"), \(place)")
  }

  private static func options(_ command: FetchCommand, _ plan: FetchPlan) throws -> EngineOptions {
    var addresses = AddressPolicy()
    addresses.allowsLoopback = true
    addresses.allowsPrivate = command.allowPrivate
    var hosts = HostRules()
    hosts.allowsPlainHTTPToLoopback = true
    hosts.allowsAnyPort = true
    hosts.allowsAddressLiterals = true
    var transport = TransportOptions(addresses: addresses, hosts: hosts)
    transport.authorityFile = command.cacert
    transport.userAgent = "outrider/0.1"
    let environment = ProcessInfo.processInfo.environment
    transport.proxy = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].lazy.compactMap { environment[$0] }.first
    { !$0.isEmpty }
    transport.noProxy = environment["no_proxy"] ?? environment["NO_PROXY"] ?? ""
    var options = EngineOptions(transport: transport)
    // What other commands left waits for them.
    options.takesUpOpenJobs = false
    // A person chose the volume, which may be small; a body without end must not take all of a large one.
    options.freeSpace = FreeSpacePolicy(least: 1 << 20, percent: 3, most: 512 << 20)
    if let text = command.limitRate {
      guard let rate = Quantity.bytes(text) else {
        throw Failure(64, "--limit-rate '\(text)' isn't a rate, for example 2MB")
      }
      options.bytesPerSecond = Int64(rate)
    }
    if command.user != nil || command.cert != nil {
      options.answerChallenge = try FetchIdentity(command, urls: plan.targets.map(\.url)).answer
    }
    return options
  }

  // MARK: The run

  func run() async throws -> Int32 {
    let view = FetchView(isJSON: command.json)
    Interrupts.onSignal { [self] number in
      let isFirst = stopped.withLock { stopped in
        guard stopped == nil else { return false }
        stopped = number == SIGINT ? 130 : 75
        return true
      }
      // Whoever asks twice doesn't want to wait; what is on the disk is good for the next time.
      guard isFirst else { Exit.leave(number == SIGINT ? 130 : 75) }
      Task { await engine.close() }
    }
    let events = engine.events
    let waiting = try await start(view)
    var open = waiting
    if !open.isEmpty {
      for await event in events {
        view.show(event)
        switch event {
        case .finished(let id, _), .failed(let id, _), .cancelled(let id): open.remove(id)
        case .waiting(_, let explanation) where explanation.code == .disk || explanation.code == .volume:
          stopped.withLock { $0 = $0 ?? 75 }
          Task { await engine.close() }
        default: break
        }
        if open.isEmpty { break }
      }
    }
    await engine.close()
    // Everything was told here and now: nothing waits for a recipient.
    _ = try? store.forgetSettled(app: FetchPlan.app, keeping: Self.keptDownloads)
    try? store.close()
    let status = stopped.withLock { open.isEmpty ? nil : $0 } ?? (view.hasFailures ? 1 : 0)
    view.finish(status: status, left: open.count)
    return status
  }

  /// Adds what is new, and goes on with what an earlier run left. Returns the jobs that aren't settled.
  private func start(_ view: FetchView) async throws -> Set<JobID> {
    var complete: Set<Int> = []
    var others: [JobRecord] = []
    try store.newestJobs(app: FetchPlan.app, identifiers: self.plan.targets.lazy.map { self.plan.path($0) }) {
      index, record in
      let wanted = plan.specification(plan.targets[index])
      if record.state == .finished, record.specification.url == wanted.url,
        record.specification.digest == wanted.digest,
        Self.isStillThere(record)
      {
        view.alreadyComplete(record)
        complete.insert(index)
      } else if !record.state.isSettled, record.state != .verified, !record.specification.asksForTheSame(as: wanted) {
        others.append(record)
      }
    }
    let wanted = plan.targets.indices.filter { !complete.contains($0) }
    for index in wanted where Files.exists(plan.path(plan.targets[index])) {
      throw Failure(
        64,
        "\(plan.path(plan.targets[index])) is there already, and nothing is ever replaced; remove it or choose --to")
    }
    try await giveUp(others)
    var open: Set<JobID> = []
    // The first are on their way while the last are still added.
    for first in stride(from: 0, to: wanted.count, by: Self.mostAtOnce) {
      let targets = wanted[first..<min(first + Self.mostAtOnce, wanted.count)].map { plan.targets[$0] }
      let results = try await engine.add(targets.map(plan.specification))
      for (target, result) in zip(targets, results) { open.insert(try accepted(target, result, view)) }
    }
    return open
  }

  private static let mostAtOnce = 1000

  private func accepted(_ target: FetchPlan.Target, _ result: AddResult, _ view: FetchView) throws -> JobID {
    switch result {
    case .added(let id, _):
      view.add(id, target.name, target.url)
      return id
    case .alreadyScheduled(let id):
      view.add(id, target.name, target.url)
      if command.foreground { engine.setClass(.foreground, of: id) }
      engine.resume(id)
      return id
    case .conflict(let id):
      throw Failure(75, "\(target.name) is still being fetched otherwise (download \(id)); try again")
    case .tooMany(let limit): throw Failure(64, "more than \(limit) downloads are open")
    case .allowance(let missing): throw Failure(75, "the allowance lacks \(missing) bytes")
    case .invalid(let why): throw Failure(64, "\(target.name): \(why)")
    }
  }

  /// An earlier command wanted something else at the same place: this one counts.
  private func giveUp(_ records: [JobRecord]) async throws {
    guard !records.isEmpty else { return }
    let events = engine.events
    for record in records {
      Output.note(
        "\(Printable.text(record.specification.fileName)): what was there from \(Self.shown(record.specification.url)) is given up"
      )
      engine.cancel(record.id)
    }
    var left = Set(records.map(\.id))
    for await event in events {
      if case .cancelled(let id) = event { left.remove(id) }
      if left.isEmpty { return }
    }
  }

  private static func shown(_ url: String) -> String { (try? ParsedURL(url))?.redacted ?? Printable.text(url) }

  private static func isStillThere(_ record: JobRecord) -> Bool {
    guard let identity = try? Files.identity(of: "\(record.specification.directory)/\(record.specification.fileName)")
    else { return false }
    return identity.inode == record.publishedInode && identity.size == record.finalSize
  }
}
