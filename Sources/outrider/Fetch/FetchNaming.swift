internal import AssetModel
internal import AssetStore
internal import Basics
internal import Downloads
internal import LinuxSystem
internal import Synchronization

/// The names of finished files: that of their URL, the one that their server says (with `--content-disposition`), or
/// the one under which an earlier run left them. The engine's threads ask.
final class FetchNaming: Sendable {
  private struct State {
    /// What servers say, made safe.
    var served: [JobID: String] = [:]
    /// What the journal has: who goes on after an interruption knows it from there.
    var recorded: [JobID: String] = [:]
    /// Those that go where their last version is, whatever their servers say.
    var kept: Set<JobID> = []
  }
  private let state = Mutex(State())
  private let store: AssetStore
  private let versions: FetchVersions
  /// Whether servers are asked for names.
  let asksServers: Bool
  private let directory: String
  /// Names of all URLs of the command.
  private let own: Set<ExactText>

  init(_ store: AssetStore, _ versions: FetchVersions, _ plan: FetchPlan, asksServers: Bool) {
    (self.store, self.versions, self.asksServers, directory) = (store, versions, asksServers, plan.directory)
    own = asksServers ? Set(plan.targets.map { ExactText($0.name) }) : []
  }

  /// What the journal has from earlier runs, before any of them is gone on with.
  func know(_ names: [JobID: String]) { state.withLock { $0.recorded.merge(names) { mine, _ in mine } } }

  func know(_ name: String, of id: JobID) { state.withLock { $0.recorded[id] = name } }

  /// The last one that says a name counts.
  func received(_ name: String, of id: JobID) {
    guard asksServers, let name = SafeFileName.from(name: name) else { return }
    state.withLock { $0.served[id] = name }
  }

  /// Before a file gets a name that isn't its URL's, the journal has it: who is killed in between finds the file
  /// under one of the two.
  func choices(_ record: JobRecord) -> [String] {
    let (id, own) = (record.id, record.specification.fileName)
    let (served, recorded) = state.withLock { ($0.served[id], $0.recorded[id]) }
    // One that was verified may have its name already.
    let isKnown = asksServers || record.state == .verified
    let kept = versions.keptName(record.specification)
    if kept != nil { state.withLock { _ = $0.kept.insert(id) } }
    let names = FetchNames.choices(
      own: own, kept: kept, served: isKnown ? served ?? recorded : nil, others: self.own)
    guard let first = names.first, !first.isExactly(recorded ?? own) else { return names }
    do {
      try store.history.record([FetchMemory.named(id, first, at: SystemClock().wall)])
    } catch {
      return [own]
    }
    know(first, of: id)
    return names
  }

  /// Where the file is, what there is to tell of it, and what the journal has to be told.
  func finished(
    _ file: DownloadedFile, of id: JobID, at wall: Int64
  ) -> (file: DownloadedFile, note: String?, event: StoredEvent?) {
    let (served, recorded, isKept) = state.withLock {
      ($0.served.removeValue(forKey: id), $0.recorded[id], $0.kept.remove(id) != nil)
    }
    // The engine doesn't know which name a file has that stays as it is.
    if file.isUnchanged, let recorded {
      var file = file
      file.path = "\(directory)/\(recorded)"
      return (file, nil, nil)
    }
    let name = String(file.path.pathNames.last ?? "")
    let event = recorded.flatMap { $0.isExactly(name) ? nil : FetchMemory.named(id, name, at: wall) }
    guard let served, !served.isExactly(name) else { return (file, nil, event) }
    let note = "\(Printable.text(name)) keeps its name: its server calls it \(Printable.text(served))"
    return (file, note + (isKept ? " now" : ", \(whyNot(served))"), event)
  }

  private func whyNot(_ name: String) -> String {
    if own.contains(ExactText(name)) { return "which is the name of another URL's file" }
    return Files.isNamed("\(directory)/\(name)") == false ? "which couldn't be given" : "which is there already"
  }
}
