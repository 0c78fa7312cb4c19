public import AssetModel
internal import HostProtocol

/// The delegate that an extension sets for itself: `ExtensionServices.observe` says whether it has one.
extension Plugin {
  /// A `ba_status` of the extension's header.
  private static let unhandled: Int64 = -2

  static func isHandled(_ result: RunnerMessage.CallResult) -> Bool { result.value != .signed(unhandled) }

  /// Tells it of an event, in a call like the others. False: it doesn't implement that method.
  ///
  /// Throws `entryPointMissing` where the extension asks for events and has no entry point for them.
  ///
  /// - Parameters:
  ///   - event: What happened to a download.
  ///   - limit: How long the call may take, where that is less than the policy's `wall`.
  /// - Returns: Whether the delegate implements that method.
  /// - Throws: `HostError.entryPointMissing`, or `.ended` where the run ends in the call.
  public func tellDelegate(_ event: DelegateCall, within limit: Duration? = nil) async throws(HostError) -> Bool {
    Self.isHandled(try await ask(.delegate(event), within: limit))
  }

  /// Asks it to answer a server's challenge (B71); nil: it doesn't implement that method.
  ///
  /// - Parameters:
  ///   - download: The download that the server asks a credential for.
  ///   - challenge: What the server asks.
  ///   - limit: How long the call may take, where that is less than the policy's `wall`.
  /// - Returns: The answer; nil where the delegate doesn't implement that method.
  /// - Throws: `HostError.entryPointMissing`, or `.ended` where the run ends in the call.
  public func askDelegate(
    _ download: Download, _ challenge: ChallengeDescription, within limit: Duration? = nil
  ) async throws(HostError) -> ChallengeDecision? {
    let result = try await ask(.delegate(.challenge(download, challenge)), within: limit)
    return Self.isHandled(result) ? result.decision ?? ChallengeDecision(.cancel) : nil
  }
}
