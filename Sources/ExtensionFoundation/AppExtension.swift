/// A program that another process wakes, as opposed to an app that a person opens.
///
/// Corresponds to Apple's `AppExtension`. Conformers are marked `@main`; the protocol of the extension point, for example
/// `BADownloaderExtension`, supplies both `configuration` and the entry point, so that a conformer declares neither.
public protocol AppExtension {
  /// How the host reaches the extension; inferred from the extension point's default.
  associatedtype Configuration: AppExtensionConfiguration

  /// The framework supplies it.
  @MainActor @preconcurrency var configuration: Configuration { get }

  /// Called once for each wake, on the process's first thread.
  @MainActor @preconcurrency init()
}
