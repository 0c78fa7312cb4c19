/// An app that is in its place.
package struct PlacedApp: Sendable, Equatable {
  package var description: AppDescription
  /// The bundle's absolute path, `ROOT/ID/VERSION/Name.app`. What lies there never changes; an update is placed beside it.
  package var path: String
  /// The version that `current` named before, which stays until `sweep(keeping:)`. nil: the app wasn't installed.
  package var previousVersion: String?

  /// Absolute paths of the executable and of the extension's folder.
  package var executablePath: String { "\(path)/\(description.executable)" }
  package var extensionPath: String { "\(path)/\(description.extensionPath)" }

  package init(description: AppDescription, path: String, previousVersion: String? = nil) {
    self.description = description
    self.path = path
    self.previousVersion = previousVersion
  }
}
