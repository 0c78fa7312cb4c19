internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem

/// Reads what a plugin points to. An address that can't be read ends the process, as a fault would; but it is told as the
/// plugin's mistake, and not as a crash of whichever library copies it. What another thread unmaps meanwhile still faults.
enum PluginMemory {
  typealias Source = RunnerMessage.WildPointer.Source

  static func bytes(_ start: UnsafeRawPointer, _ count: Int, of source: Source) -> UnsafeRawBufferPointer {
    if ol_check_readable(start, count) != 0 { end(start, source) }
    return UnsafeRawBufferPointer(start: start, count: count)
  }

  /// Up to its NUL, which isn't among them.
  static func text(_ start: UnsafePointer<CChar>, atMost limit: Int, of source: Source) -> UnsafeRawBufferPointer {
    var count = 0
    if ol_check_text(start, limit, &count) != 0 { end(start, source) }
    return UnsafeRawBufferPointer(start: start, count: count)
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
