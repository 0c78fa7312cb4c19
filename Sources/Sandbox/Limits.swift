/// What a run may use. Times are wall time on the boot-time clock and CPU time of the whole tree; sizes are bytes.
public struct Limits: Sendable, Equatable {
  /// Wall time of one call, loading included; time in host callbacks counts.
  public var wallTime: Duration = .seconds(30)
  /// CPU time of one call.
  public var cpu: Duration = .seconds(10)
  /// CPU time of all calls of a run.
  public var cpuTotal: Duration = .seconds(600)
  /// Anonymous, shared and kernel memory beyond the runner's baseline; file-backed pages don't count.
  public var memory: Int = 8 << 20
  /// Open descriptors; one more answers EMFILE.
  public var openFiles: Int = 256
  /// Length of a file that the plugin writes; beyond it writes answer EFBIG.
  public var fileSize: Int = 1 << 30
  /// Threads beside the first; one more answers EAGAIN.
  public var threads: Int = 64
  /// Log text that is kept; the rest is counted.
  public var logBytes: Int = 256 << 10
  /// Bytes of one frame on a channel: of an answer with its `out(N)`, and, where it is more than 4 MiB, of a call with its
  /// arguments. In the plugin an argument takes its size twice, and an `out(N)` three times, of `memory`; the C library
  /// may keep some of that for later calls.
  public var frameBytes: Int = 4 << 20

  /// Creates the default limits.
  public init() {}

  /// Creates limits with some of the defaults changed.
  ///
  /// - Parameters:
  ///   - wallTime: Wall time of one call.
  ///   - cpu: CPU time of one call, all threads.
  ///   - memory: Bytes beyond the runner's own.
  public init(wallTime: Duration, cpu: Duration = .seconds(10), memory: Int = 8 << 20) {
    self.wallTime = wallTime
    self.cpu = cpu
    self.memory = memory
  }
}

extension Limits {
  /// Some 28 years, and far more bytes than there are: sums of two don't overflow.
  public static let longestTime = Duration.seconds(900_000_000)
  /// Bytes that a limit may be.
  public static let maxBytes = 9_000_000_000_000_000
  /// The runner has some open itself, and the loader needs one.
  public static let openFilesRange = 8...1 << 20
  /// What `threads` may be.
  public static let threadsRange = 0...1 << 15
  /// What `frameBytes` may be: up to 1 GiB.
  public static let frameBytesRange = 1...1 << 30

  /// What no file says, but a program may: why a run can't have these limits; nil: it can.
  public var rejectionReason: String? {
    for (name, time) in [("wall", wallTime), ("cpu", cpu), ("cpuTotal", cpuTotal)]
    where time <= .zero || time > Self.longestTime {
      return "\(name) is \(time); it is more than nothing and at most \(Self.longestTime)"
    }
    let numbers = [
      ("memory", memory, 1...Self.maxBytes), ("openFiles", openFiles, Self.openFilesRange),
      ("fileSize", fileSize, 0...Self.maxBytes), ("threads", threads, Self.threadsRange),
      ("logBytes", logBytes, 0...Self.maxBytes), ("frameBytes", frameBytes, Self.frameBytesRange),
    ]
    guard let (name, value, range) = numbers.first(where: { !$0.2.contains($0.1) }) else { return nil }
    return "\(name) is \(value); it is a number from \(range.lowerBound) to \(range.upperBound)"
  }
}
