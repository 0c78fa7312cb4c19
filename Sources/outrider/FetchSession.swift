internal import AssetModel
internal import AssetStore
internal import Downloads
internal import Foundation
internal import LinuxSystem
internal import Sandbox
internal import Synchronization

/// One `outrider fetch`: its jobs from the journal, the engine, and what people see of it.
final class FetchSession: Sendable {
  private struct Target {
    var url: String
    var name: String
    var specification: DownloadSpecification
  }

  private let command: FetchCommand
  private let targets: [Target]
  private let store: AssetStore
  private let engine: DownloadEngine
  private let stopped = Mutex<Int32?>(nil)

  static let app = "fetch"

  init(_ command: FetchCommand) throws {
    self.command = command
    targets = try Self.targets(command)
    let directory = FetchState.directory(command.state)
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
    engine = try DownloadEngine(journal: store, options: try Self.options(command))
  }

  // MARK: What is asked for

  private static func targets(_ command: FetchCommand) throws -> [Target] {
    let directory = URL(fileURLWithPath: command.to).standardizedFileURL.path
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: directory, isDirectory: &isDirectory), isDirectory.boolValue else {
      throw Failure(66, "--to \(command.to): there is no such directory")
    }
    var digest: ContentDigest?
    if let text = command.sha256 {
      guard let parsed = ContentDigest(hex: text), parsed.algorithm == .sha256 else {
        throw Failure(64, "--sha256 '\(text)' isn't a SHA-256: 64 hexadecimal digits")
      }
      digest = parsed
    }
    let chunks = try command.chunks.map(ChunkListFile.read)
    var names: [String: String] = [:]
    return try command.allURLs().map { text in
      let url: ParsedURL
      do throws(ParsedURL.Failure) { url = try ParsedURL(text) } catch {
        throw Failure(64, "'\(text)' isn't a URL: \(error)")
      }
      let name = SafeFileName.from(url: url)
      if let other = names.updateValue(text, forKey: name) {
        throw Failure(64, "\(other) and \(text) would both be written to \(name); fetch them to two directories")
      }
      let specification = DownloadSpecification(
        app: app, identifier: "\(directory)/\(name)", url: text,
        transferClass: command.foreground ? .foreground : .visible,
        digest: digest, chunks: chunks, directory: directory, fileName: name)
      return Target(url: text, name: name, specification: specification)
    }
  }

  private static func options(_ command: FetchCommand) throws -> EngineOptions {
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
    // A person chose the volume: only what a filesystem needs to live stays free.
    options.freeSpace = FreeSpacePolicy(least: 1 << 20, percent: 0)
    if let text = command.limitRate {
      guard let rate = Quantity.bytes(text) else {
        throw Failure(64, "--limit-rate '\(text)' isn't a rate, for example 2MB")
      }
      options.bytesPerSecond = Int64(rate)
    }
    if let user = command.user {
      let parts = user.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2 else { throw Failure(64, "--user takes NAME:PASSWORD") }
      options.answerChallenge = { challenge in
        guard case .credentials(_, _, isProxy: false) = challenge.kind, challenge.previousFailureCount == 0 else {
          return .cancel
        }
        return .credential(user: parts[0], password: parts[1])
      }
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
    try? store.close()
    let status = stopped.withLock { open.isEmpty ? nil : $0 } ?? (view.hasFailures ? 1 : 0)
    view.finish(status: status, left: open.count)
    return status
  }

  /// Adds what is new, and goes on with what an earlier run left. Returns the jobs that aren't settled.
  private func start(_ view: FetchView) async throws -> Set<JobID> {
    var wanted: [Target] = []
    for target in targets {
      if let record = try store.job(app: Self.app, identifier: target.specification.identifier),
        record.state == .finished,
        record.specification.url == target.url, record.specification.digest == target.specification.digest,
        Self.isStillThere(record)
      {
        view.alreadyComplete(record)
        continue
      }
      if Files.exists(target.specification.identifier) {
        throw Failure(
          64,
          "\(target.specification.identifier) is there already, and nothing is ever replaced; remove it or choose --to")
      }
      wanted.append(target)
    }
    try await giveUpOthers(wanted)
    let results = try await engine.add(wanted.map(\.specification))
    var open: Set<JobID> = []
    for (target, result) in zip(wanted, results) {
      switch result {
      case .added(let id, _):
        view.add(id, target.name, target.url)
        open.insert(id)
      case .alreadyScheduled(let id):
        view.add(id, target.name, target.url)
        open.insert(id)
        if command.foreground { engine.setClass(.foreground, of: id) }
        engine.resume(id)
      case .conflict(let id):
        throw Failure(75, "\(target.name) is still being fetched otherwise (download \(id)); try again")
      case .tooMany(let limit): throw Failure(64, "more than \(limit) downloads are open")
      case .allowance(let missing): throw Failure(75, "the allowance lacks \(missing) bytes")
      case .invalid(let why): throw Failure(64, "\(target.name): \(why)")
      }
    }
    return open
  }

  /// An earlier command wanted something else at the same place: this one counts.
  private func giveUpOthers(_ wanted: [Target]) async throws {
    var others: Set<JobID> = []
    let events = engine.events
    for target in wanted {
      guard let record = try store.job(app: Self.app, identifier: target.specification.identifier),
        !record.state.isSettled,
        record.state != .verified, !record.specification.asksForTheSame(as: target.specification)
      else { continue }
      Output.note(
        "\(Printable.text(target.name)): what was there from \(Self.shown(record.specification.url)) is given up")
      others.insert(record.id)
      engine.cancel(record.id)
    }
    guard !others.isEmpty else { return }
    for await event in events {
      if case .cancelled(let id) = event { others.remove(id) }
      if others.isEmpty { return }
    }
  }

  private static func shown(_ url: String) -> String { (try? ParsedURL(url))?.redacted ?? Printable.text(url) }

  private static func isStillThere(_ record: JobRecord) -> Bool {
    guard let identity = try? Files.identity(of: "\(record.specification.directory)/\(record.specification.fileName)")
    else { return false }
    return identity.inode == record.publishedInode && identity.size == record.finalSize
  }
}
