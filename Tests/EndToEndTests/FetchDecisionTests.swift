import AssetModel
import AssetStore
import Basics
import Downloads
import Testing

@testable import outrider

/// What is done about a file that may be there already, without a disk and without a server.
@Suite(.timeLimit(.minutes(1))) struct FetchDecisionTests {
  private static func record(_ id: Int64, tag: String? = "\"x\"") -> JobRecord {
    let specification = DownloadSpecification(
      app: "fetch", identifier: "/d/a", url: "https://a/a", transferClass: .background, directory: "/d", fileName: "a")
    var record = JobRecord(
      id: JobID(id), specification: specification, enqueued: StoredMoment(bootIdentifier: "", boot: 0, wall: 0))
    record.state = .finished
    (record.publishedInode, record.finalSize) = (7, 100)
    record.partial = Partial(
      stagingName: "", entity: Entity(strongTag: tag, finalURL: ""), bootIdentifier: "", device: 0, inode: 7)
    return record
  }

  private static func version(_ name: String? = nil) -> FileVersion {
    FileVersion(inode: 7, size: 100, modified: 3, changed: 4, name: name)
  }

  private struct Unmet: Error {}

  private enum Expected: Equatable {
    case complete(Int64?)
    case refused(String)
    case fetched
    /// Only another version, or any, in the place of the one that is there.
    case askedFor, replacing
  }

  private static func decide(_ facts: FetchDecision.Facts) -> Expected {
    switch FetchDecision.about(facts) {
    case .complete(let id, _, let bytes):
      #expect(bytes == 100)
      return .complete(id?.number)
    case .refuse(let failure): return .refused(failure.detail)
    case .fetch(nil, nil): return .fetched
    case .fetch(let known, let version):
      #expect(version == Self.version(), "nothing else makes way")
      return known == nil ? .replacing : .askedFor
    }
  }

  private static let all: [FetchMode] = [.keep, .force, .ifChanged, .ownPlace]

  private static func facts(_ mode: FetchMode, _ change: (inout FetchDecision.Facts) -> Void = { _ in }) -> Expected {
    var facts = FetchDecision.Facts(mode: mode, path: "/d/a")
    change(&facts)
    return decide(facts)
  }

  @Test(arguments: all) func nothingIsThere(mode: FetchMode) {
    #expect(Self.facts(mode) == .fetched)
    #expect(Self.facts(mode) { $0.existing = .named } == .fetched, "it only has to be called done")
    #expect(Self.facts(mode) { $0.existing = .damaged("was changed") } == .fetched, "what was changed is gone")
  }

  @Test("no folder and no device makes way, and no message says to remove one", arguments: all)
  func noFile(mode: FetchMode) {
    for there in [FetchDecision.Place.folder, .device] {
      guard case .refused(let detail) = Self.facts(mode, { $0.there = there }) else {
        Issue.record("\(there) in mode \(mode)")
        continue
      }
      #expect(!detail.contains("remove") && !detail.contains("--force"))
    }
  }

  @Test func itsOwnFileIsThere() {
    for (mode, expected) in [
      (.keep, .complete(1)), (.force, .fetched), (.ifChanged, .askedFor), (.ownPlace, .askedFor),
    ] as [(FetchMode, Expected)] {
      #expect(
        Self.facts(mode) {
          $0.existing = .intact(Self.record(1), Self.version())
          $0.there = .file
        } == expected, "\(mode)")
      // What another command brought is as good, but isn't this journal's.
      let other: Expected = expected == .complete(1) ? .complete(nil) : expected
      #expect(
        Self.facts(mode) {
          $0.sibling = .complete(Self.record(1), Self.version())
          $0.there = .file
        } == other, "\(mode)")
    }
    let withoutTag = FetchDecision.ExistingFile.intact(Self.record(1, tag: nil), Self.version())
    #expect(Self.facts(.ifChanged) { $0.existing = withoutTag } == .replacing, "there is nothing to ask with")
    for mode in [FetchMode.ifChanged, .ownPlace] {
      #expect(
        Self.facts(mode) {
          $0.existing = .intact(Self.record(1), Self.version())
          $0.isExpected = true
        } == .complete(1), "its digest says that it can't have changed")
    }
  }

  @Test("a file that is as it was fetched is outdated by another digest, and only --if-changed takes that for leave")
  func outdated() throws {
    func decide(_ mode: FetchMode) -> Expected {
      Self.facts(mode) {
        ($0.existing, $0.there) = (.outdated(Self.version(), "has another digest"), .file)
        $0.isExpected = true
      }
    }
    #expect(decide(.ifChanged) == .replacing)
    guard case .refused(let why) = decide(.keep) else { throw Unmet() }
    #expect(why.contains("has another digest"))
  }

  @Test func somebodyElsesFileIsThere() throws {
    for (mode, expected) in [(.keep, nil), (.force, .fetched), (.ifChanged, nil), (.ownPlace, .fetched)]
      as [(FetchMode, Expected?)]
    {
      let found = Self.facts(mode) { $0.there = .file }
      if let expected { #expect(found == expected, "\(mode)") }
      if expected == nil, case .refused(let why) = found { #expect(why.contains("--force"), "\(why)") }
      #expect(expected != nil || found != .fetched, "\(mode)")
    }
    for mode in [FetchMode.keep, .ifChanged] {
      #expect(
        Self.facts(mode) {
          $0.there = .file
          $0.fittingSize = { 100 }
        } == .complete(nil), "a caller that knows the digest knows the file")
      let damaged = Self.facts(mode) {
        ($0.there, $0.existing) = (.file, .damaged("was changed"))
        $0.fittingSize = { 100 }
      }
      guard case .refused(let why) = damaged else { throw Unmet() }
      #expect(why.contains("was changed"))
    }
  }

  @Test(arguments: all) func whatAnotherCommandHasInHandIsLeftToIt(mode: FetchMode) {
    let inHand = FetchSiblings.Finding.inHand("process 7 has it")
    #expect(Self.facts(mode) { $0.sibling = inHand } == .refused("process 7 has it"))
    let complete = Self.facts(mode) {
      $0.sibling = inHand
      $0.existing = .intact(Self.record(1), Self.version())
    }
    #expect(complete == (mode == .keep ? .complete(1) : .refused("process 7 has it")))
  }

  @Test(arguments: [FetchMode.keep, .force, .ifChanged]) func whatNoJournalTakesIsRefused(mode: FetchMode) {
    #expect(
      Self.facts(mode) { $0.rejection = TransferFailure(.notAllowed, detail: "too long") } == .refused("too long"))
  }

  @Test("an update that was interrupted goes on, and nothing else is taken for one") func interrupted() throws {
    let version = Self.version()
    #expect(
      Self.facts(.ifChanged) { ($0.existing, $0.there) = (.open(replaces: version), .file) } == .replacing)
    guard case .refused = Self.facts(.ifChanged, { ($0.existing, $0.there) = (.open(replaces: nil), .file) }),
      case .refused = Self.facts(.keep, { ($0.existing, $0.there) = (.open(replaces: version), .file) })
    else { throw Unmet() }
  }

  // MARK: Names that servers gave

  private static func decision(
    _ mode: FetchMode, _ change: (inout FetchDecision.Facts) -> Void
  ) -> FetchDecision {
    var facts = FetchDecision.Facts(mode: mode, path: "/d/a")
    change(&facts)
    return FetchDecision.about(facts)
  }

  @Test("a file that its server named may be replaced under that name, and no other file is") func served() {
    let version = Self.version("served")
    let intact = FetchDecision.ExistingFile.intact(Self.record(1), Self.version("served"))
    #expect(
      Self.decision(.ifChanged) { $0.existing = intact }
        == .fetch(known: KnownVersion(Self.record(1)), replaces: version))
    for existing in [intact, .open(replaces: version)] {
      #expect(Self.decision(.force) { $0.existing = existing } == .fetch(known: nil, replaces: version))
    }
    #expect(Self.decision(.force) { $0.existing = .damaged("") } == .fetch(known: nil, replaces: nil))
  }

  @Test("with --if-changed it is about the file that is there, whatever its name is", arguments: all)
  func elsewhere(mode: FetchMode) {
    func decide(_ there: FetchDecision.Place, _ own: FetchDecision.Place = .nothing) -> FetchDecision {
      Self.decision(mode) {
        ($0.existing, $0.there) = (.damaged("was changed"), own)
        $0.elsewhere = FetchDecision.Elsewhere(path: "/d/served", there: there)
      }
    }
    if case .refuse(let failure) = decide(.file) {
      #expect(mode == .ifChanged && failure.detail.contains("/d/served was changed"), "\(failure)")
    } else {
      #expect(mode != .ifChanged)
    }
    for there in [FetchDecision.Place.nothing, .folder] {
      #expect(decide(there) == .fetch(known: nil, replaces: nil), "nothing is there that could be brought up to date")
    }
    if case .refuse(let failure) = decide(.file, .file) { #expect(failure.detail.contains("/d/a was"), "\(failure)") }
  }

  @Test("what a server says comes before the URL's name, and after what is brought up to date") func choices() {
    for (kept, served, expected) in [
      (nil, nil, ["a"]), (nil, "a", ["a"]), (nil, "s", ["s", "a"]), (nil, "b", ["a"]), ("k", "s", ["k"]),
      ("a", "s", ["a"]),
    ] as [(String?, String?, [String])] {
      let names = FetchNames.choices(own: "a", kept: kept, served: served, others: [ExactText("a"), ExactText("b")])
      #expect(names == expected, "\(String(describing: kept)), \(String(describing: served))")
    }
  }

  @Test func whatIsReplacedIsRememberedWithItsName() {
    var record = Self.record(1)
    let version = Self.version("served")
    var memory = FetchMemory(FetchMemory.begun(JobID(1), replacing: version, at: 1))
    #expect(memory.replacedVersion(by: record) == version)
    #expect(FetchMemory(memory.events(of: record, as: JobID(2), at: 1)).names == [JobID(2): "served"])
    record.specification.fileName = "served"
    #expect(memory.replacedVersion(by: record)?.name == nil, "its own is none")
    memory = FetchMemory([FetchMemory.named(JobID(1), "served", at: 1)])
    #expect(memory.replacedVersion(by: record) == nil && memory.events(of: record, as: JobID(2), at: 1).count == 1)
  }

  @Test func eventsAreRemembered() {
    let version = FileVersion(inode: .max, size: 5, modified: 6, changed: 7)
    let events = [
      FetchMemory.replaces(JobID(1), version, at: 1), FetchMemory.named(JobID(2), "x y", at: 1),
      StoredEvent(wall: 1, job: JobID(3), kind: "published", detail: "77"),
      StoredEvent(wall: 1, job: JobID(4), kind: "published", detail: "x"),
      StoredEvent(wall: 1, job: JobID(4), kind: "replaces", detail: "1"),
      StoredEvent(wall: 1, job: JobID(4), kind: "replaces", detail: "1 -1 1"),
      StoredEvent(wall: 1, job: JobID(4), kind: "replaces", detail: "1 5"),
      StoredEvent(wall: 1, job: JobID(4), kind: "replaces", detail: "1 5 6 x"),
      StoredEvent(wall: 1, kind: "named", detail: "nobody's"),
      StoredEvent(wall: 1, job: JobID(5), kind: "else", detail: ""),
    ]
    let memory = FetchMemory(events)
    #expect(memory.replaced == [JobID(1): version] && memory.names == [JobID(2): "x y"])
    #expect(memory.modified == [JobID(3): 77])
  }
}
