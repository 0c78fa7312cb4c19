internal import HostProtocol

/// A function of the host's for a plugin to call: for one call (`CallArgument.callback`), or until it is released (`Plugin.register`).
public final class PluginCallback: Sendable, Equatable {
  let signature: String
  let body: @Sendable ([CallValue]) async throws -> CallArgument
  /// Where it is registered; nil: it is passed to a call.
  let registration: Registration?

  struct Registration: Sendable {
    /// Of the plugin.
    var plugin: UInt64
    var number: UInt8
  }

  init(
    signature: String, registration: Registration? = nil,
    body: @escaping @Sendable ([CallValue]) async throws -> CallArgument
  ) {
    self.signature = signature
    self.registration = registration
    self.body = body
  }

  public static func == (one: PluginCallback, other: PluginCallback) -> Bool { one === other }
}
