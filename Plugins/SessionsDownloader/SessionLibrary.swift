import BackgroundAssets

/// The place in the group's container where app and extension keep the sessions.
struct SessionLibrary: Sendable {
  private let directory: URL
  private let catalogFile: URL

  init?(appGroup: String) {
    guard let container = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: appGroup) else {
      return nil
    }
    directory = container.appendingPathComponent("Library/Caches/Sessions", isDirectory: true)
    catalogFile = container.appendingPathComponent("Library/Application Support/Sessions.json", isDirectory: false)
  }

  /// Keeps the manifest for the app: the file at its place is deleted when the content request has been answered.
  func keep(catalog: URL) throws {
    try FileManager.default.createDirectory(
      at: catalogFile.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(contentsOf: catalog, options: .mappedIfSafe).write(to: catalogFile, options: .atomic)
  }

  /// A plain file name, neither hidden nor a path.
  static func isName(_ id: String) -> Bool {
    !id.isEmpty && id.utf8.count <= 200 && !id.hasPrefix(".") && !id.contains("/") && !id.contains("\0")
  }

  func contains(_ id: String) -> Bool {
    FileManager.default.fileExists(atPath: directory.appendingPathComponent(id).path)
  }

  /// Moves a finished file to a hidden name beside its place, on the same volume.
  func rescue(_ file: URL, as id: String) throws -> URL {
    guard Self.isName(id) else { throw CocoaError(.fileWriteInvalidFileName) }
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let waiting = directory.appendingPathComponent(".\(UUID().uuidString)-\(id)")
    try FileManager.default.moveItem(at: file, to: waiting)
    return waiting
  }

  /// Puts a rescued file where the app looks for it, in place of an older one. Call with exclusive control.
  func shelve(_ waiting: URL, as id: String) throws {
    let place = directory.appendingPathComponent(id)
    if contains(id) { try FileManager.default.removeItem(at: place) }
    try FileManager.default.moveItem(at: waiting, to: place)
  }
}
