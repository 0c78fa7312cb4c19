/// What a run may use. Times are wall time on the boot-time clock and CPU time of the whole tree; sizes are bytes.
public struct Limits: Sendable, Equatable {
  /// Wall time of one call, loading included; time in host callbacks counts.
  public var wall: Duration = .seconds(30)
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
  /// Bytes of one frame on a channel.
  public var frameBytes: Int = 4 << 20

  public init() {}

  public init(wall: Duration, cpu: Duration = .seconds(10), memory: Int = 8 << 20) {
    self.wall = wall
    self.cpu = cpu
    self.memory = memory
  }
}
