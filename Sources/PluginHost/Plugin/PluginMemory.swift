/// Memory within a plugin that its caller has allocated (`Plugin.allocate`): it stays between calls, until it is freed or the plugin
/// ends.
public struct PluginMemory: Sendable, Hashable, CustomStringConvertible {
  /// Which plugin of this process it belongs to.
  let plugin: UInt64
  /// From 1 on; never given out twice.
  let number: UInt64
  /// How many bytes it has.
  public let byteCount: Int

  public var description: String { "memory \(number) of \(byteCount) bytes" }
}
