internal import AssetModel

/// What the journal is asked of jobs that aren't running, and what its answers are for. A pure value: the journal is never
/// read on the network thread, so a part that needs a record asks for it here and goes on when it comes.
struct JobReads {
  /// What a job's record is needed for. Nothing of these: it will probably start soon, and its record is read ahead.
  struct Need: Equatable {
    /// It has a slot and starts.
    var start: Scheduler.Entry?
    /// What was asked for meanwhile, in order.
    var commands = CommandQueue()
    /// It waited for as long as it may for a network that has been gone since then.
    var withoutNetwork: Duration?
  }

  static let maxKnown = 512
  static let maxAtOnce = 512
  /// Fewer than that, and the next ones are read: small files are through before a busy journal has answered for a few.
  static let lowWater = 64
  /// So many of those that come next are known then.
  static let ahead = 256

  /// Records that were read or added, of jobs that wait, as the journal has them.
  private(set) var known: [JobID: JobRecord] = [:]
  private var needs: [JobID: Need] = [:]
  /// Asked for since the journal was asked last.
  private var wanted: [JobID] = []
  /// Among them are some that are read ahead.
  private var readsAhead = false
  /// Jobs that the journal is asked for now.
  private(set) var underWay = 0

  var isIdle: Bool { needs.isEmpty && underWay == 0 }

  /// Whether more records are to be read, where so many jobs wait. `isMissing`: the one that starts wasn't known, so the
  /// journal is asked anyway, and what is known isn't what comes next.
  func wantsMore(of waiting: Int, isMissing: Bool = false) -> Bool {
    (isMissing ? waiting > 0 : known.count < Self.lowWater && waiting > known.count) && !readsAhead && underWay == 0
  }

  /// Whether the journal is asked for it.
  func isReading(_ id: JobID) -> Bool { needs.keys.contains(id) }

  /// Remembers the record of a waiting job, as long as there is room.
  mutating func know(_ record: JobRecord) { if known.count < Self.maxKnown { known[record.id] = record } }

  /// Its record changes: what is known of it doesn't count any more, and it doesn't start by it.
  mutating func forget(_ id: JobID) {
    known[id] = nil
    needs[id]?.start = nil
    needs[id]?.withoutNetwork = nil
  }

  /// The journal has something else of it from now on, by another writer than the engine.
  mutating func invalidate(_ id: JobID) { known[id] = nil }

  /// A job has a slot. The record by which it starts at once; nil: it starts when its record was read, after what was asked
  /// for before.
  mutating func start(_ entry: Scheduler.Entry) -> JobRecord? {
    if !isReading(entry.id), let record = known.removeValue(forKey: entry.id) { return record }
    need(entry.id) { $0.start = entry }
    return nil
  }

  mutating func perform(_ command: JobCommand, on id: JobID) { need(id) { $0.commands.append(command) } }

  mutating func fail(_ id: JobID, withoutNetworkSince moment: Duration) { need(id) { $0.withoutNetwork = moment } }

  /// `ids`: those that come next. What is known of others is forgotten where there is no room for them.
  mutating func readAhead(_ ids: [JobID]) {
    readsAhead = true
    let unknown = ids.filter { !known.keys.contains($0) && !isReading($0) }
    if known.count + needs.count + unknown.count > Self.maxKnown {
      let next = Set(ids)
      known = known.filter { next.contains($0.key) }
    }
    for id in unknown.prefix(max(0, Self.maxKnown - known.count - needs.count)) { need(id) { _ in } }
  }

  private mutating func need(_ id: JobID, _ change: (inout Need) -> Void) {
    if !isReading(id) { wanted.append(id) }
    change(&needs[id, default: Need()])
  }

  /// Those that the journal has to be asked for now, in one transaction; the others when that answered.
  mutating func takeWanted() -> [JobID] {
    guard underWay == 0 else { return [] }
    let ids = Array(wanted.prefix(Self.maxAtOnce))
    wanted.removeFirst(ids.count)
    underWay = ids.count
    readsAhead = false
    return ids
  }

  /// The journal answered for these; what each was needed for, in order.
  mutating func answered(_ ids: [JobID]) -> [(id: JobID, need: Need)] {
    underWay = 0
    return ids.compactMap { id in needs.removeValue(forKey: id).map { (id, $0) } }
  }
}
