internal import AssetModel

/// The rate caps: one for all, one for each class.
struct RateBuckets {
  private var all: RateBucket?
  private var classes: [TransferClass: RateBucket]

  init(_ options: EngineOptions) {
    all = options.bytesPerSecond.map { RateBucket(bytesPerSecond: $0) }
    classes = options.classBytesPerSecond.mapValues { RateBucket(bytesPerSecond: $0) }
  }

  /// Takes what arrived; how long to wait before more.
  mutating func take(_ bytes: Int, _ transferClass: TransferClass, at now: Duration) -> Duration {
    max(all?.take(bytes, at: now) ?? .zero, classes[transferClass]?.take(bytes, at: now) ?? .zero)
  }

  var isLimited: Bool { all != nil || !classes.isEmpty }
}
