public import AssetModel
internal import HostProtocol
internal import LinuxSystem

/// The entry points of an extension. Their calls take turns with those of functions, and `within` is as for these.
extension Plugin {
  /// What the extension answers to a content request, checked by the rules (spec, 6.2).
  ///
  /// - Parameters:
  ///   - kind: Why the extension is asked.
  ///   - limit: How long the call may take, where that is less than the policy's `wall`.
  /// - Returns: What may be downloaded of its answer, and what was rejected.
  /// - Throws: `HostError.entryPointMissing`, or `.ended` where the run ends in the call.
  public func contentRequest(
    _ kind: ContentRequestKind, within limit: Duration? = nil
  ) async throws(HostError) -> DownloadRules.Verdict {
    try await contentRequest(
      kind, remaining: nil, essentialRemaining: nil, rules: DownloadRules(request: kind), within: limit)
  }

  /// The same with what may still be downloaded before the app's first launch, in bytes: nil when nothing is restricted
  /// (B64). `rules`: for the groups of the extension; what kind of request this is, `kind` alone says.
  ///
  /// - Parameters:
  ///   - kind: Why the extension is asked.
  ///   - remaining: Bytes that may still be downloaded; nil: any number.
  ///   - essentialRemaining: Bytes of essential downloads that may; nil: any number.
  ///   - rules: What the answer is checked by.
  ///   - limit: How long the call may take, where that is less than the policy's `wall`.
  /// - Returns: What may be downloaded of its answer, and what was rejected.
  /// - Throws: `HostError.entryPointMissing`, or `.ended` where the run ends in the call.
  public func contentRequest(
    _ kind: ContentRequestKind, remaining: Int64?, essentialRemaining: Int64?, rules: DownloadRules,
    within limit: Duration? = nil
  ) async throws(HostError) -> DownloadRules.Verdict {
    func wire(_ bytes: Int64?) -> Int64 { bytes.map { max($0, 0) } ?? -1 }
    let result = try await ask(
      .contentRequest(
        kind: kind, manifest: core.manifestPath(run), remaining: wire(remaining),
        essentialRemaining: wire(essentialRemaining)), within: limit)
    var rules = rules
    rules.request = kind
    var verdict = rules.validate(result.downloads)
    verdict.accepted = verdict.accepted.map(\.identified)
    verdict.rejectedDownloads = verdict.rejectedDownloads.map(\.identified)
    verdict.rejected += result.refused.map {
      RejectedDownload(
        identifier: $0, code: 102, reason: "one answer has at most \(Frame.longestPayload >> 20) MiB; it found no room")
    }
    return verdict
  }

  /// Hands a finished file over. The extension finds a copy in its container and moves it; what it leaves is removed. The
  /// copy is named after the last part of the URL's path, made safe (`SafeFileName`).
  ///
  /// - Parameters:
  ///   - download: What the extension is told of.
  ///   - file: The file's path on this machine.
  ///   - limit: How long the call may take, where that is less than the policy's `wall`.
  /// - Throws: `HostError.input` for a file that can't be read, `.handOver` where the container doesn't take it,
  ///   `.entryPointMissing`, or `.ended` where the run ends in the call.
  public func downloadFinished(
    _ download: Download, file: String, within limit: Duration? = nil
  ) async throws(HostError) {
    try await downloadFinished(download, file: try await core.open(finished: file, of: run), within: limit)
  }

  /// The same with a file that was opened before the plugin could change what its name leads to.
  ///
  /// - Parameters:
  ///   - download: What the extension is told of.
  ///   - file: The file.
  ///   - limit: How long the call may take, where that is less than the policy's `wall`.
  /// - Throws: `HostError.handOver` where the container doesn't take it, `.entryPointMissing`, or `.ended` where the
  ///   run ends in the call.
  public func downloadFinished(
    _ download: Download, file: FinishedFile, within limit: Duration? = nil
  ) async throws(HostError) {
    let place = try await core.place(for: file.subject, group: download.applicationGroupIdentifier, of: run)
    let staged = try core.stage(file, as: SafeFileName.from(url: download.url), in: place)
    defer { staged.remove() }
    _ = try await ask(.downloadFinished(download, path: place.view + staged.relativePath), within: limit)
  }

  /// Tells the extension that a download failed.
  ///
  /// - Parameters:
  ///   - download: What the extension is told of.
  ///   - error: Why it failed.
  ///   - limit: How long the call may take, where that is less than the policy's `wall`.
  /// - Throws: `HostError.entryPointMissing`, or `.ended` where the run ends in the call.
  public func downloadFailed(
    _ download: Download, error: ErrorDescription, within limit: Duration? = nil
  ) async throws(HostError) {
    _ = try await ask(.downloadFailed(download, error), within: limit)
  }

  /// Asks the extension to answer a server's challenge (B71). An answer that is none cancels the challenge; the run's report
  /// has the status, and nothing has the credential.
  ///
  /// Throws `entryPointMissing` where there is no such entry point: B72's answer is `performDefaultHandling`.
  ///
  /// - Parameters:
  ///   - download: The download that the server asks a credential for.
  ///   - challenge: What the server asks.
  ///   - limit: How long the call may take, where that is less than the policy's `wall`.
  /// - Returns: The extension's answer.
  /// - Throws: `HostError.entryPointMissing`, or `.ended` where the run ends in the call.
  public func authenticationChallenge(
    _ download: Download, _ challenge: ChallengeDescription, within limit: Duration? = nil
  ) async throws(HostError) -> ChallengeDecision {
    let result = try await ask(.authenticationChallenge(download, challenge), within: limit)
    return result.decision ?? ChallengeDecision(.cancel)
  }

  /// Tells the extension that it is about to end: a call like the others, with their limits. Advisory and deprecated: a host
  /// may end a plugin without it. Throws `entryPointMissing` where there is no such entry point; `image.entryPoints` says.
  ///
  /// - Parameter limit: How long the call may take, where that is less than the policy's `wall`.
  /// - Throws: `HostError.entryPointMissing`, or `.ended` where the run ends in the call.
  public func willTerminate(within limit: Duration? = nil) async throws(HostError) {
    _ = try await ask(.willTerminate, within: limit)
  }

  /// A call of an extension's entry point.
  func ask(
    _ call: HostMessage.Call, within limit: Duration?
  ) async throws(HostError) -> RunnerMessage.CallResult {
    try Self.check(limit)
    return try await core.call(run, call, within: limit)
  }

  static func check(_ limit: Duration?) throws(HostError) {
    guard let limit, limit <= .zero else { return }
    throw .usage("a call can't be made within \(limit): give it more than no time")
  }

  /// Takes on what the extension answered: until they finish, they are among its current downloads. A host that doesn't do
  /// the transfers of an answer has no need of it.
  ///
  /// - Parameter downloads: Each with a unique identifier.
  public func adopt(_ downloads: [Download]) {
    core.loop.submit { [core, run] in core.runs[run]?.record.scheduled.adopt(downloads) }
  }

  /// A download is no longer current, because its file is here or it has failed; to be said before the extension is told.
  ///
  /// - Parameter identifier: Of a download that was adopted or scheduled.
  public func finish(_ identifier: String) {
    core.loop.submit { [core, run] in core.runs[run]?.record.scheduled.finish(identifier) }
  }

  /// What the plugin scheduled by itself so far.
  ///
  /// - Returns: Those that haven't been finished or cancelled, in their order.
  public func scheduledDownloads() async -> [Download] {
    await withCheckedContinuation { [core, run] continuation in
      core.loop.submit { continuation.resume(returning: core.runs[run]?.record.scheduled.downloads ?? []) }
    }
  }

  // MARK: The delegate that an extension sets for itself: `ExtensionServices.observe` says whether it has one

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

  // MARK: Files that are handed over

  /// Hands a finished file over without a copy: it is renamed into the container of the download's app group, so that it
  /// stays the same inode with its attributes, and the extension gets its path there.
  ///
  /// The file must lie on the container's filesystem, in a folder that no plugin writes to. Should this process be killed
  /// meanwhile, `PluginHost.takeBack` finds out whether the extension has taken the file.
  ///
  /// Throws where the extension wasn't called at all: the file is then where it was. What is wrong with the path is
  /// `HostError.input` or `.usage`; a container that doesn't take the file is `.handOver`.
  ///
  /// - Parameters:
  ///   - download: What the extension is told of.
  ///   - path: The file on this machine.
  ///   - ifLeft: What is done with a file that the extension leaves where it is.
  ///   - limit: How long the call may take, where that is less than the policy's `wall`.
  /// - Returns: What became of the file, also where the run ended in the callback.
  /// - Throws: `HostError` where the extension wasn't called at all.
  public func downloadFinished(
    _ download: Download, moving path: String, ifLeft: Handover.LeftFile = .giveBackAfterFailure,
    within limit: Duration? = nil
  ) async throws(HostError) -> Handover {
    try await handOver(download, moving: path, ifLeft: ifLeft, within: limit) {
      .downloadFinished(download, path: $0)
    }.handover
  }

  /// Tells the delegate that the extension has set of a finished file, which it finds in its container (B31). What it leaves
  /// goes back to where it was. `isHandled` false: it has no such delegate, or not that method.
  ///
  /// Throws as `downloadFinished(_:moving:ifLeft:)`.
  ///
  /// - Parameters:
  ///   - download: What the delegate is told of.
  ///   - path: The file on this machine.
  ///   - limit: How long the call may take, where that is less than the policy's `wall`.
  /// - Returns: What became of the file, and whether the delegate implements that method.
  /// - Throws: `HostError` where the extension wasn't called at all.
  public func tellDelegate(
    finished download: Download, moving path: String, within limit: Duration? = nil
  ) async throws(HostError) -> (handover: Handover, isHandled: Bool) {
    let (handover, result) = try await handOver(download, moving: path, ifLeft: .giveBack, within: limit) {
      .delegate(.finished(download, path: $0))
    }
    return (handover, result.map(Self.isHandled) ?? false)
  }

  private func handOver(
    _ download: Download, moving path: String, ifLeft: Handover.LeftFile, within limit: Duration?,
    by call: (String) -> HostMessage.Call
  ) async throws(HostError) -> (handover: Handover, result: RunnerMessage.CallResult?) {
    // Before anything is moved.
    try Self.check(limit)
    let moved = try await core.move(
      path, as: SafeFileName.from(url: download.url), group: download.applicationGroupIdentifier, of: run)
    var failure: HostError?
    var result: RunnerMessage.CallResult?
    do throws(HostError) {
      result = try await core.call(run, call(moved.view), within: limit)
    } catch {
      failure = error
    }
    switch failure {
    case nil:
      if ifLeft == .giveBack { return (moved.giveBack(after: nil), result) }
      return (Handover(file: moved.delete(), isGivenBack: false, failure: nil), result)
    case .ended?:
      if ifLeft == .delete { return (Handover(file: moved.delete(), isGivenBack: false, failure: failure), nil) }
      return (moved.giveBack(after: failure), nil)
    case let failure?:
      guard moved.giveBack(after: nil).isGivenBack else {
        throw .handOver("\(path) can't be put back after this: \(failure.description)")
      }
      throw failure
    }
  }
}
