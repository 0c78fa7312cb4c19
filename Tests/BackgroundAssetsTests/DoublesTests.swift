import BackgroundAssets
import CExtension
import Testing

/// Subclasses of the framework's classes in an author's tests, and what a host is told of them.
extension HostSuite {
  @Suite struct Doubles {
    private let host = FakeHost()

    init() { ba_set_current_host(host.table) }

    private func mock(essential: Bool = false) -> MockDownload {
      MockDownload(
        identifier: "own", request: URLRequest(url: URL(string: "https://e.com/a")!), essential: essential, fileSize: 7,
        applicationGroupIdentifier: "group", priority: .init(5))
    }

    @Test("a subclass has every initialiser of its superclass") func initialisers() {
      let short = MockDownload(
        identifier: "a", request: URLRequest(url: URL(string: "https://e.com/a")!), fileSize: 1,
        applicationGroupIdentifier: "group")
      #expect(short.identifier == "overridden" && short.state == .finished)
      #expect(StrictMock(label: "x").label == "x")
    }

    @Test("a host is told what a subclass was created with, not what it overrides") func hostSeesTheBase() throws {
      try BADownloadManager.shared.scheduleDownload(mock())
      #expect(
        host.state.withLock { $0.scheduled } == [
          .init(identifier: "own", url: "https://e.com/a", fileSize: 7, priority: 5, group: "group")
        ])
      try BADownloadManager.shared.cancel(mock())
      #expect(host.state.withLock { $0.cancelled } == ["own"])
    }

    @Test("an essential download stays one, whatever a subclass says") func essentialStays() {
      let error = #expect(throws: NSError.self) {
        try BADownloadManager.shared.scheduleDownload(mock(essential: true))
      }
      #expect(error?.code == 109 && host.state.withLock { $0.scheduled.isEmpty })
    }

    @Test("copies of a subclass are of that class, or the object itself where it can't be made") func copies() throws {
      let copy = try #require(mock().copy() as? MockDownload)
      #expect(type(of: mock().removingEssential()) == MockDownload.self && copy.overriddenState == .finished)
      let strict = StrictMock(label: "x")
      #expect(strict.removingEssential() === strict && (strict.copy() as? StrictMock) === strict)
    }

    @Test("a subclass of the base class can be unarchived") func archive() throws {
      let data = try NSKeyedArchiver.archivedData(withRootObject: mock(), requiringSecureCoding: true)
      let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
      unarchiver.setClass(ArchivedDouble.self, forClassName: NSStringFromClass(MockDownload.self))
      let double = try #require(
        unarchiver.decodeObject(of: ArchivedDouble.self, forKey: NSKeyedArchiveRootObjectKey))
      #expect(double.identifier == "own" && double.priority.rawValue == 5)
    }

    @Test("a mock of the manager stands in for it") func manager() async throws {
      let manager = MockManager()
      let standIn: BADownloadManager = manager
      try standIn.scheduleDownload(mock(essential: true))
      #expect(try await standIn.currentDownloads.count == 1 && host.state.withLock { $0.scheduled.isEmpty })
      try standIn.cancel(manager.scheduled[0])
      #expect(try standIn.fetchCurrentDownloads().isEmpty)
      standIn.withExclusiveControl { acquired, _ in #expect(acquired) }
      #expect(manager.turns == 1)
    }
  }
}
