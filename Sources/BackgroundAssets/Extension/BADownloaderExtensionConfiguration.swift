// swift-format-ignore-file: UseSynthesizedInitializer

/// How the service reaches a downloader extension. Corresponds to Apple's `BADownloaderExtensionConfiguration`.
@MainActor @preconcurrency
public protocol BADownloaderExtensionConfiguration: AppExtensionConfiguration, Sendable {}

/// The configuration that a downloader extension gets unless it declares its own. It holds nothing: what the host needs to
/// know is in the extension's table of entry points.
public struct DownloaderConfiguration: BADownloaderExtensionConfiguration {
  // Written out to be nonisolated, which the synthesized one is not.
  nonisolated init() {}
}
