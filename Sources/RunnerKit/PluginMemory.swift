internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem

/// Copies what a plugin points to. An address that can't be read ends the process, as a fault would; but it is told as the
/// plugin's mistake, and not as a crash of whichever library copies it. Other threads may unmap or change it meanwhile.
enum PluginMemory {
  typealias Source = RunnerMessage.WildPointer.Source

  static func bytes(_ start: UnsafeRawPointer, _ count: Int, of source: Source) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { copy, filled in
      // An array of nothing has no address.
      guard count > 0 else { return }
      if ol_copy_readable(copy.baseAddress, start, count) != 0 { end(start, source) }
      filled = count
    }
  }

  /// Up to its NUL, which isn't among them.
  static func text(_ start: UnsafePointer<CChar>, atMost limit: Int, of source: Source) -> [UInt8] {
    var count = 0
    if ol_check_text(start, limit, &count) != 0 { end(start, source) }
    let found = bytes(start, count, of: source)
    // It may have become shorter.
    return found.firstIndex(of: 0).map { Array(found[..<$0]) } ?? found
  }

  static func value<T: BitwiseCopyable>(_ start: UnsafePointer<T>, of source: Source) -> T {
    withUnsafeTemporaryAllocation(of: T.self, capacity: 1) { copy in
      if ol_copy_readable(copy.baseAddress, start, MemoryLayout<T>.size) != 0 { end(start, source) }
      return copy[0]
    }
  }

  static func values<T: BitwiseCopyable>(_ start: UnsafePointer<T>, _ count: Int, of source: Source) -> [T] {
    [T](unsafeUninitializedCapacity: count) { copy, filled in
      guard count > 0 else { return }
      if ol_copy_readable(copy.baseAddress, start, count * MemoryLayout<T>.stride) != 0 { end(start, source) }
      filled = count
    }
  }

  /// To memory of the caller's.
  static func copy(_ start: UnsafeRawPointer, _ count: Int, to target: UnsafeMutableRawPointer, of source: Source) {
    if ol_copy_readable(target, start, count) != 0 { end(start, source) }
  }

  /// To memory of the plugin's. What can't be written ends the process as well.
  static func put(_ bytes: ArraySlice<UInt8>, at target: UnsafeMutableRawPointer, of source: Source) {
    bytes.withUnsafeBytes { from in
      guard let start = from.baseAddress, from.count > 0 else { return }
      check(target, from.count, of: source)
      if ol_copy_guarded(target, start, from.count) != 0 { end(target, source) }
    }
  }

  /// Whether it can be read at this moment.
  static func check(_ start: UnsafeRawPointer, _ count: Int, of source: Source) {
    if count > 0, ol_check_readable(start, count) != 0 { end(start, source) }
  }

  private static func end(_ address: UnsafeRawPointer, _ source: Source) -> Never {
    // In a callback a thread of the plugin's may hold the stream that this would wait for.
    if source != .argument { ol_flush_output() }
    let pointer = RunnerMessage.WildPointer(source: source, address: UInt64(UInt(bitPattern: address)))
    try? Sockets.send(
      Runner.control, RunnerMessage.wildPointer(pointer).frame(id: 0).encoded(), flags: Int32(MSG_DONTWAIT))
    ol_exit_now(128 + SIGSEGV)
  }
}
