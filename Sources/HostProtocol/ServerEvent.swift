/// What a fork server tells its host, one datagram each.
package enum ServerEvent: Sendable, Equatable {
  /// The server has left the host's user namespace and waits until the host has written its id maps.
  case wantsIdentity
  case ready(Hello)
  /// The descriptor with it is the runner's pidfd. `cpuNanoseconds` is what it had used before it was this run's.
  case spawned(run: UInt64, cpuNanoseconds: UInt64)
  case spawnFailed(run: UInt64, step: String, code: Int32)
  case exited(Exit)
  /// A spare runner is ready.
  case prepared
  /// The host's lease had run out, and its runners stand still since then (CLOCK_BOOTTIME, nanoseconds).
  case stopped(at: UInt64)

  package struct Hello: Sendable, Equatable {
    /// Namespaces that couldn't be entered, with the errno: `user mount pid network ipc uts`.
    package var missing: [RunnerMessage.WallReport.Failure]
    /// Directories that hold what the runner has loaded.
    package var runtime: [String]
    package var hasPreloaded: Bool

    package init(missing: [RunnerMessage.WallReport.Failure], runtime: [String], hasPreloaded: Bool) {
      self.missing = missing
      self.runtime = runtime
      self.hasPreloaded = hasPreloaded
    }
  }

  package struct Exit: Sendable, Equatable {
    package var run: UInt64
    /// The exit code, or the signal where `wasSignalled`.
    package var status: Int32
    package var wasSignalled: Bool
    package var cpuNanoseconds: UInt64

    package init(run: UInt64, status: Int32, wasSignalled: Bool, cpuNanoseconds: UInt64) {
      self.run = run
      self.status = status
      self.wasSignalled = wasSignalled
      self.cpuNanoseconds = cpuNanoseconds
    }
  }

  package func encoded() -> [UInt8] {
    var writer = ByteWriter()
    switch self {
    case .wantsIdentity: writer.integer(UInt8(0))
    case .ready(let hello):
      writer.integer(UInt8(1))
      writer.array(hello.missing) { writer, failure in
        writer.string(failure.step)
        writer.integer(failure.code)
      }
      writer.array(hello.runtime) { $0.string($1) }
      writer.boolean(hello.hasPreloaded)
    case .spawned(let run, let cpu):
      writer.integer(UInt8(2))
      writer.integer(run)
      writer.integer(cpu)
    case .spawnFailed(let run, let step, let code):
      writer.integer(UInt8(3))
      writer.integer(run)
      writer.string(step)
      writer.integer(code)
    case .exited(let exit):
      writer.integer(UInt8(4))
      writer.integer(exit.run)
      writer.integer(exit.status)
      writer.boolean(exit.wasSignalled)
      writer.integer(exit.cpuNanoseconds)
    case .prepared: writer.integer(UInt8(5))
    case .stopped(let time):
      writer.integer(UInt8(6))
      writer.integer(time)
    }
    return writer.bytes
  }

  package init(decoding bytes: ArraySlice<UInt8>) throws(ProtocolViolation) {
    var reader = ByteReader(bytes)
    switch try reader.integer(UInt8.self) {
    case 0: self = .wantsIdentity
    case 1:
      self = .ready(
        Hello(
          missing: try reader.array { (reader) throws(ProtocolViolation) in
            RunnerMessage.WallReport.Failure(step: try reader.string(), code: try reader.integer())
          },
          runtime: try reader.array { (reader) throws(ProtocolViolation) in try reader.string() },
          hasPreloaded: try reader.boolean()))
    case 2: self = .spawned(run: try reader.integer(), cpuNanoseconds: try reader.integer())
    case 3: self = .spawnFailed(run: try reader.integer(), step: try reader.string(), code: try reader.integer())
    case 4:
      self = .exited(
        Exit(
          run: try reader.integer(), status: try reader.integer(), wasSignalled: try reader.boolean(),
          cpuNanoseconds: try reader.integer()))
    case 5: self = .prepared
    case 6: self = .stopped(at: try reader.integer())
    case let other: throw .unknownCase(other)
    }
    try reader.end()
  }
}
