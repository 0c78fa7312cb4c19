extension BADownload {
  /// Orders the downloads of one app: higher values go first. Corresponds to Apple's `BADownloaderPriority`.
  ///
  /// Valid values reach from -100 (``min``) to 100 (``max``). A download with another one is rejected with
  /// ``BAErrorCode/downloadFailedToStart`` when it is scheduled, never adjusted in silence.
  public struct Priority: BitwiseCopyable, Equatable, Hashable, RawRepresentable, Sendable {
    public let rawValue: Int

    /// Creates a priority. Nothing is checked before its download is scheduled.
    public init(_ rawValue: Int) { self.rawValue = rawValue }
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// -100.
    public static let min = Priority(-100)
    /// 0.
    public static let `default` = Priority(0)
    /// 100.
    public static let max = Priority(100)

    var isValid: Bool { (Self.min.rawValue...Self.max.rawValue).contains(rawValue) }
  }
}
