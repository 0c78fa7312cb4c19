/// What stands for something that a plugin returned as `handle`: a number of the host's, which no address can be told from. It is
/// passed back to functions of the same plugin.
public struct PluginHandle: Sendable, Hashable, CustomStringConvertible {
  /// Which plugin of this process it belongs to.
  package let plugin: UInt64
  /// From 1 on; never given out twice.
  package let number: UInt64

  package init(plugin: UInt64, number: UInt64) {
    self.plugin = plugin
    self.number = number
  }

  public var description: String { "handle \(number)" }
}
