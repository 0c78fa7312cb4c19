/// The `@main` type of this library, and its one instance.
///
/// Unprotected state, because the ABI calls `main` and all entry points one at a time on the process's first thread.
enum ExtensionRegistry {
  nonisolated(unsafe) private(set) static var type: (any BADownloaderExtension.Type)?
  nonisolated(unsafe) private static var instance: (any BADownloaderExtension)?

  static func register<Extension: BADownloaderExtension>(_ type: Extension.Type) {
    self.type = type
    instance = nil
  }

  /// The instance of this wake; made by the first entry point that is called.
  static var current: (any BADownloaderExtension)? {
    if instance == nil, let type = type.map(Unchecked.init) {
      instance = MainActor.assumeIsolated { Unchecked(value: type.value.init() as any BADownloaderExtension) }.value
    }
    return instance
  }

  /// @unchecked: stays on the one thread.
  private struct Unchecked<Value>: @unchecked Sendable {
    let value: Value
  }
}
