/// The `@main` type of this library, and its one instance.
///
/// Unprotected state, because the ABI calls `main` and all entry points one at a time on the process's first thread.
enum ExtensionRegistry {
  nonisolated(unsafe) private(set) static var type: (any BADownloaderExtension.Type)?
  nonisolated(unsafe) private static var instance: (any BADownloaderExtension)?

  static func register<Extension: BADownloaderExtension>(_ type: Extension.Type) {
    self.type = type
    instance = nil
    ProcessName.set()
    TaskObserver.start()
  }

  /// The instance of this wake; made by the first entry point that is called.
  static var current: (any BADownloaderExtension)? {
    if instance == nil, let type {
      // Apple's initialiser is the main actor's. Here the ABI says which thread calls, which the compiler can't check.
      typealias Make = (any BADownloaderExtension.Type) -> any BADownloaderExtension
      let make: @MainActor (any BADownloaderExtension.Type) -> any BADownloaderExtension = { $0.init() }
      instance = unsafeBitCast(make, to: Make.self)(type)
    }
    return instance
  }
}
