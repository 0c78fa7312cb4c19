internal import Basics

/// Counts what was denied. A plugin that tries a million times costs one row, and a million different things cost as
/// many rows as a report has room for. Each wall has its own: a million missing files hide no refused call.
struct DenialRecorder {
  private struct Key: Hashable {
    var wall: String
    var operation: String
    var target: ExactText
    var path: ExactText?

    init(_ denial: RunReport.Denial) {
      (wall, operation) = (denial.wall, denial.operation)
      (target, path) = (ExactText(denial.target), denial.path.map(ExactText.init))
    }
  }

  private struct Row {
    var count: Int
    var writes: Bool
    var mayHaveChanged: Bool
    var namesLink: Bool
    var readsToo: Bool
    var asksToExecute: Bool
    var rule: String?

    init(_ denial: RunReport.Denial, count: Int) {
      self.count = count
      (writes, mayHaveChanged) = (denial.writes, denial.mayHaveChanged)
      (namesLink, rule) = (denial.namesLink, denial.rule)
      (readsToo, asksToExecute) = (denial.readsToo, denial.asksToExecute)
    }

    mutating func add(_ denial: RunReport.Denial) {
      count += 1
      readsToo = readsToo || denial.readsToo || writes != denial.writes
      asksToExecute = asksToExecute || denial.asksToExecute
      writes = writes || denial.writes
      mayHaveChanged = mayHaveChanged || denial.mayHaveChanged
      namesLink = namesLink && denial.namesLink
      rule = rule ?? denial.rule
    }
  }

  /// Of each wall; of files more, since a library may look for its own in hundreds of places.
  static let (maxRows, maxFileRows) = (256, 1024)
  private var rows: [Key: Row] = [:]
  private var rowsByWall: [String: Int] = [:]
  private var order: [Key] = []
  private(set) var dropped = 0
  /// All of them, by the wall that stopped them.
  private(set) var countsByWall: [String: Int] = [:]
  /// Is told of each as it happens.
  private let feed: EventFeed?

  init(feed: EventFeed? = nil) { self.feed = feed }

  mutating func record(
    wall: String, operation: String, target: String, writes: Bool = false, mayHaveChanged: Bool = false
  ) {
    record(
      .init(
        wall: wall, operation: operation, target: target, count: 1, writes: writes, mayHaveChanged: mayHaveChanged))
  }

  /// One more of these.
  mutating func record(_ denial: RunReport.Denial) {
    countsByWall[denial.wall, default: 0] += 1
    feed?.tell { .denied(denial) }
    let key = Key(denial)
    if rows[key]?.add(denial) != nil { return }
    if makeRoom(for: denial.wall) {
      rows[key] = Row(denial, count: 1)
      order.append(key)
    } else {
      dropped += 1
    }
  }

  /// Adds the final count of what was counted elsewhere. The first of each kind may have been recorded here as it happened.
  mutating func merge(_ denial: RunReport.Denial) {
    let key = Key(denial)
    let before = rows[key]?.count ?? 0
    countsByWall[denial.wall, default: 0] += max(denial.count - before, 0)
    guard before > 0 || makeRoom(for: denial.wall) else { return drop(denial.count) }
    if before == 0 { order.append(key) }
    rows[key] = Row(denial, count: max(denial.count, before))
  }

  private mutating func makeRoom(for wall: String) -> Bool {
    guard rowsByWall[wall, default: 0] < (wall == "files" ? Self.maxFileRows : Self.maxRows) else { return false }
    rowsByWall[wall, default: 0] += 1
    return true
  }

  /// Counts so many more without their names.
  mutating func drop(_ count: Int) { dropped += count }

  var denials: [RunReport.Denial] {
    order.compactMap { key in
      rows[key].map { row in
        .init(
          wall: key.wall, operation: key.operation, target: key.target.text, path: key.path?.text, count: row.count,
          writes: row.writes, mayHaveChanged: row.mayHaveChanged, namesLink: row.namesLink, readsToo: row.readsToo,
          asksToExecute: row.asksToExecute, rule: row.rule)
      }
    }
  }
}
