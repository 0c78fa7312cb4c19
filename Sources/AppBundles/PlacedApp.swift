/// An app that is in its place.
public struct PlacedApp: Sendable, Equatable {
  public var description: AppDescription
  /// The bundle's absolute path, `ROOT/ID/VERSION/Name.app`. What lies there never changes; an update is placed beside it.
  public var path: String
  /// The version that `current` named before, which stays until `sweep(keeping:)`. nil: the app wasn't installed.
  public var previousVersion: String?

  /// Absolute paths of the executable and of the extension's folder.
  public var executablePath: String { "\(path)/\(description.executable)" }
  public var extensionPath: String { "\(path)/\(description.extensionPath)" }

  public init(description: AppDescription, path: String, previousVersion: String? = nil) {
    self.description = description
    self.path = path
    self.previousVersion = previousVersion
  }
}
