internal import HostProtocol

/// A function of the host's for a plugin to call (`CallArgument.callback`).
public final class PluginCallback: Sendable, Equatable {
  let signature: String
  let body: @Sendable ([CallValue]) async throws -> CallArgument

  init(signature: String, body: @escaping @Sendable ([CallValue]) async throws -> CallArgument) {
    self.signature = signature
    self.body = body
  }

  public static func == (one: PluginCallback, other: PluginCallback) -> Bool { one === other }
}
