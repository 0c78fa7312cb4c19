import BackgroundAssets

let appGroup = "group.com.example.sessions"

/// The places in the group's container where app and extension keep the sessions.
struct SessionLibrary: Sendable {
  struct NoContainer: LocalizedError {
    var errorDescription: String? {
      "This program has no container of \(appGroup): install Sessions.app and start it with "
        + "'outrider launch com.example.sessions'."
    }
  }

  private let directory: URL
  private let catalogFile: URL

  init() throws {
    guard let container = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: appGroup) else {
      throw NoContainer()
    }
    directory = container.appendingPathComponent("Library/Caches/Sessions", isDirectory: true)
    catalogFile = container.appendingPathComponent("Library/Application Support/Sessions.json", isDirectory: false)
  }

  func catalog() throws -> Catalog { try JSONDecoder().decode(Catalog.self, from: Data(contentsOf: catalogFile)) }

  func file(of id: String) -> URL { directory.appendingPathComponent(id, isDirectory: false) }

  /// Asked each time: the service may delete files that it delivered when room gets scarce.
  func contains(_ id: String) -> Bool { FileManager.default.fileExists(atPath: file(of: id).path) }

  /// Moves a finished file to a hidden name beside its place, on the same volume.
  func rescue(_ file: URL, as id: String) throws -> URL {
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let waiting = directory.appendingPathComponent(".\(UUID().uuidString)-\(id)", isDirectory: false)
    try FileManager.default.moveItem(at: file, to: waiting)
    return waiting
  }

  /// Puts a rescued file in its place, instead of an older one. Call with exclusive control.
  func shelve(_ waiting: URL, as id: String) throws {
    if contains(id) { try FileManager.default.removeItem(at: file(of: id)) }
    try FileManager.default.moveItem(at: waiting, to: file(of: id))
  }
}
