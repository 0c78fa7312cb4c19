public import AssetModel
internal import HostProtocol

/// What became of a finished file that was moved into an extension's container to be handed over.
public struct Handover: Sendable {
  /// What became of the file.
  public enum File: Sendable, Equatable {
    /// The extension has taken it: moved it away, given it another name, or deleted it. Also where the run ended afterwards.
    case moved
    /// It lay where it was put, unmodified.
    case left
    /// It lay where it was put, but the extension had written to it. It was deleted.
    case changed
  }

  /// What to do with an unmodified file that the extension left.
  public enum LeftFile: Sendable {
    /// B55.
    case delete
    case giveBack
    /// Deletes it if the callback returned, and gives it back if the run ended before, to be offered again.
    case giveBackAfterFailure
  }

  /// Whether the extension took the file.
  public var file: File
  /// Whether the file is again where it was taken from.
  public var isGivenBack: Bool
  /// How the run ended in the callback or before it; nil where the callback returned.
  public var failure: HostError?
}

extension Plugin {
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

extension PluginHost {
  /// Looks for a file that a process which was killed had moved into a container, and puts it back to `path`. False: the
  /// extension has taken it, or it was never moved. To be asked before another plugin gets the container.
  ///
  /// Throws `HostError.failed` where a host that is at work is just handing it over, or it can't be put back.
  ///
  /// - Parameters:
  ///   - inode: The file's, as `stat(2)` had it before it was handed over.
  ///   - container: The folder that the extension may write to.
  ///   - path: Where the file was.
  /// - Returns: Whether it is there again.
  /// - Throws: `HostError.failed`; the file is where it was found.
  public static func takeBack(inode: UInt64, from container: String, to path: String) throws(HostError) -> Bool {
    try MovedFile.takeBack(inode: inode, from: container, to: path)
  }
}
