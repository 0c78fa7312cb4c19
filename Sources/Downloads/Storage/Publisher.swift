internal import AssetModel
internal import Dispatch
internal import Glibc
internal import LinuxSystem
internal import Synchronization

/// Makes verified files visible, in the order that survives a power cut: data, journal `verified`, name, journal
/// `finished`. Files that come while one batch is on its way go together in the next: many small files share their
/// synchronisations.
final class Publisher: Sendable {
  struct Item: Sendable {
    var job: JobRecord
    var file: StagingFile
    /// All of the file, where it hasn't been written yet.
    var content: TransferBuffer?
    /// The journal says `verified` already: the steps before the rename were done by an earlier run.
    var isReplay = false
    /// Those that it may get, best first; asked for when its turn comes.
    var names: [String] = []
    /// The record's specification has the name that the file got.
    var completion: @Sendable (Result<JobRecord, Failure>) -> Void
  }

  enum Failure: Error {
    /// Its bytes may not be on the disk, even if a second synchronisation succeeds.
    case unsynchronised(SystemCallError)
    /// It is verified, as this record has it; but its name is missing, or may not survive.
    case unnamed(JobRecord, SystemCallError)
    /// `verified`: what the journal has of one that was verified before.
    case journal(any Error, verified: JobRecord?)
    /// Something of that name is there and isn't ours.
    case occupied(String)
    /// The journal says `verified`, but the file is gone.
    case lost
    /// It has its name, in a directory that isn't at its path any more. `size`: the file's.
    case displaced(size: Int64?)
  }

  /// Files from which on one synchronisation of the whole volume is cheaper than one for each.
  private static let volumeThreshold = 8
  private static let maxInBatch = 512

  private let journal: JournalWriter
  private let mode: UInt32
  private let stagingOwner: String
  private let mayReplace: (@Sendable (DownloadSpecification) -> Bool)?
  private let names: @Sendable (JobRecord) -> [String]
  private let queue = DispatchQueue(label: "outrider.publisher")
  private struct Pending {
    var items: [Item] = []
    var isDraining = false
  }
  private let pending = Mutex(Pending())

  init(
    journal: JournalWriter, mode: UInt32, stagingOwner: String,
    mayReplace: (@Sendable (DownloadSpecification) -> Bool)?, names: @escaping @Sendable (JobRecord) -> [String]
  ) {
    self.journal = journal
    self.mode = mode
    self.stagingOwner = stagingOwner
    self.mayReplace = mayReplace
    self.names = names
  }

  func publish(_ item: Item) {
    let isFirst = pending.withLock { pending in
      pending.items.append(item)
      defer { pending.isDraining = true }
      return !pending.isDraining
    }
    if isFirst { queue.async { self.drain() } }
  }

  /// One commit says `finished` of a batch and `verified` of the next, as long as the next is quick to synchronise.
  private func drain() {
    var named: [Item] = []
    while true {
      var batch = pending.withLock { pending in
        let batch = Array(pending.items.prefix(Self.maxInBatch))
        pending.items.removeFirst(batch.count)
        // A newcomer starts the next drain only when nothing is left to do here.
        pending.isDraining = !batch.isEmpty || !named.isEmpty
        return batch
      }
      if batch.isEmpty, named.isEmpty { return }
      for index in batch.indices { batch[index].names = names(batch[index].job) }
      if batch.contains(where: { $0.content == nil }) { finish(&named) }
      var items = sealed(batch)
      commit(&named, &items)
      for item in named { tell(item) }
      items = items.compactMap { rename($0) }
      synchronizeDirectories(&items)
      // Before the journal says that all is done: who dies in between comes back here.
      for item in items { removeOlderGenerations(item) }
      named = items
    }
  }

  private func finish(_ named: inout [Item]) {
    var none: [Item] = []
    commit(&named, &none)
    for item in named { tell(item) }
    named = []
  }

  private func tell(_ item: Item) {
    item.file.close()
    item.completion(.success(item.job))
  }

  /// Modes set and data on the disk; those that failed are told and left out.
  private func sealed(_ batch: [Item]) -> [Item] {
    var done: [Item] = []
    let fresh = batch.filter { !$0.isReplay }
    let together = fresh.count >= Self.volumeThreshold
    for var item in fresh {
      do throws(SystemCallError) {
        if let content = item.content { try item.file.write(content) }
        let identity = try item.file.seal(
          mode: mode, replacing: replacedFile(by: item), synchronizes: !together)
        // It can't be asked for again where the volume fails: a descriptor would only be in the way.
        if together, item.content != nil { item.file.close() }
        item.content = nil
        item.job.publishedInode = identity.inode
        item.job.finalSize = identity.size
        done.append(item)
      } catch {
        item.completion(.failure(.unsynchronised(error)))
      }
    }
    if together {
      var failures: [UInt64: SystemCallError] = [:]
      for item in Dictionary(grouping: done, by: \.file.destination.device).values.compactMap(\.first) {
        let destination = item.file.destination
        do throws(SystemCallError) {
          try destination.files.synchronizeVolume(of: destination.target.number)
        } catch {
          failures[destination.device] = error
        }
      }
      done = done.filter { item in
        guard let failure = failures[item.file.destination.device] else { return true }
        item.completion(.failure(.unsynchronised(failure)))
        return false
      }
    }
    return batch.filter(\.isReplay) + done
  }

  /// The file that it may take the place of. It is looked for again when its name is given.
  private func replacedFile(by item: Item) -> FileIdentity? {
    for name in item.names {
      guard let found = item.file.destination.identity(named: name) else { return nil }
      if mayReplace?(item.job.specification.named(name)) == true { return found.isRegularFile ? found : nil }
    }
    return nil
  }

  private func commit(_ named: inout [Item], _ sealed: inout [Item]) {
    guard !named.isEmpty || !sealed.isEmpty else { return }
    let before = named.map(\.job)
    for index in named.indices { named[index].job.state = .finished }
    for index in sealed.indices { sealed[index].job.state = .verified }
    do {
      try journal.commitNow((named + sealed).map { .job($0.job) })
    } catch {
      for (item, record) in zip(named, before) { item.completion(.failure(.journal(error, verified: record))) }
      for item in sealed { item.completion(.failure(.journal(error, verified: nil))) }
      (named, sealed) = ([], [])
    }
  }

  /// The item with the name that its file has now; nil: it has none, which was told.
  private func rename(_ item: Item) -> Item? {
    do throws(Failure) {
      var item = item
      item.job.specification = item.job.specification.named(try name(item))
      return item
    } catch {
      item.completion(.failure(error))
      return nil
    }
  }

  private func name(_ item: Item) throws(Failure) -> String {
    let destination = item.file.destination
    do throws(SystemCallError) {
      if item.isReplay, try !destination.stages(item.job, under: item.file.name) {
        // An earlier run had renamed it, and died before it could say so. Anything else there isn't to be published.
        for name in item.names {
          if try destination.holds(item.job, under: name) { return name }
        }
        throw SystemCallError("open", code: ENOENT, subject: item.file.name)
      }
    } catch {
      throw failure(error, item)
    }
    var last: (name: String, error: SystemCallError)?
    for name in item.names {
      do throws(SystemCallError) {
        try give(name, to: item)
        return name
      } catch {
        // Not every volume takes every name, and another one may do in any case.
        last = (name, error)
      }
    }
    guard let last else { throw .lost }
    throw last.error.code == EEXIST ? .occupied(last.name) : failure(last.error, item)
  }

  private func failure(_ error: SystemCallError, _ item: Item) -> Failure {
    error.code == ENOENT ? .lost : .unnamed(item.job, error)
  }

  /// Replaces nothing unless `mayReplace` says so.
  private func give(_ name: String, to item: Item) throws(SystemCallError) {
    let destination = item.file.destination
    // Who still has it open for writing could change what was verified.
    try item.file.whileLocked { () throws(SystemCallError) in
      do throws(SystemCallError) {
        try destination.files.rename(
          item.file.name, in: destination.staging.number, to: name, in: destination.target.number)
      } catch {
        guard error.code == EEXIST, mayReplace?(item.job.specification.named(name)) == true else { throw error }
        try destination.files.replace(
          name, in: destination.target.number, by: item.file.name, in: destination.staging.number)
      }
    }
  }

  private func synchronizeDirectories(_ items: inout [Item]) {
    var failures: [ObjectIdentifier: SystemCallError] = [:]
    let destinations = Dictionary(items.map { (ObjectIdentifier($0.file.destination), $0.file.destination) }) {
      first, _ in first
    }
    for (key, destination) in destinations {
      do throws(SystemCallError) {
        try destination.files.synchronize(destination.target.number)
        try destination.files.synchronize(destination.staging.number)
      } catch {
        failures[key] = error
      }
    }
    let displaced = Set(destinations.filter { !$0.value.isAtItsPath }.keys)
    items = items.filter { item in
      let key = ObjectIdentifier(item.file.destination)
      if let failure = failures[key] {
        item.completion(.failure(.unnamed(item.job, failure)))
      } else if displaced.contains(key) {
        item.file.close()
        item.completion(.failure(.displaced(size: item.job.finalSize)))
      } else {
        return true
      }
      return false
    }
  }

  /// Partials of other versions were kept until this one was certain.
  private func removeOlderGenerations(_ item: Item) {
    for generation in stride(from: item.job.generation - 1, through: max(1, item.job.generation - 16), by: -1) {
      item.file.destination.removeStaging(
        Destination.stagingName(
          app: item.job.specification.app, identifier: item.job.specification.identifier, generation: generation,
          owner: stagingOwner))
    }
  }
}

extension DownloadSpecification {
  /// The same, but for the name that the file gets.
  func named(_ name: String) -> Self {
    var specification = self
    specification.fileName = name
    return specification
  }
}
