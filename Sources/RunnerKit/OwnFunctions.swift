internal import CLinux
internal import Glibc
internal import HostProtocol

/// What the host calls by a name that no library exports: memory and callbacks that stay between the plugin's calls.
enum OwnFunctions {
  static func address(of function: RunnerFunction) -> UnsafeMutableRawPointer {
    switch function {
    case .allocate:
      let function: @convention(c) (UInt64) -> UnsafeMutableRawPointer? = { count in
        Int(exactly: count).flatMap { calloc(1, $0) }
      }
      return unsafeBitCast(function, to: UnsafeMutableRawPointer.self)
    case .free:
      let function: @convention(c) (UnsafeMutableRawPointer?) -> Void = { Glibc.free($0) }
      return unsafeBitCast(function, to: UnsafeMutableRawPointer.self)
    case .write:
      let function: @convention(c) (UnsafeMutableRawPointer?, UnsafeRawPointer?, UInt64) -> Void = { to, from, count in
        guard let to, let from, let count = Int(exactly: count) else { return }
        // The plugin may have unmapped it.
        PluginMemory.check(to, count, of: .argument)
        to.copyMemory(from: from, byteCount: count)
      }
      return unsafeBitCast(function, to: UnsafeMutableRawPointer.self)
    case .read:
      let function: @convention(c) (UnsafeRawPointer?, UnsafeMutableRawPointer?, UInt64) -> Void = { from, to, count in
        guard let to, let from, let count = Int(exactly: count) else { return }
        PluginMemory.copy(from, count, to: to, of: .argument)
      }
      return unsafeBitCast(function, to: UnsafeMutableRawPointer.self)
    case .openCallback:
      let function: @convention(c) (UnsafeRawPointer?, UInt64) -> UnsafeMutableRawPointer? = { text, count in
        guard let text, let count = Int(exactly: count) else { return nil }
        let callback = CallbackTable.begin(Array(UnsafeRawBufferPointer(start: text, count: count)))
        return callback.flatMap { UnsafeMutableRawPointer(bitPattern: UInt($0.address)) }
      }
      return unsafeBitCast(function, to: UnsafeMutableRawPointer.self)
    case .closeCallback:
      let function: @convention(c) (UInt64) -> Void = { CallbackTable.end([UInt8(truncatingIfNeeded: $0)]) }
      return unsafeBitCast(function, to: UnsafeMutableRawPointer.self)
    }
  }
}
