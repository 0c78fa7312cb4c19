internal import AssetModel
internal import HostProtocol

/// What an answer to a call looks like. The runner's code makes no other; a plugin that writes into the channel may.
enum AnswerRule {
  /// `signature`: of a function; nil for an entry point, whose type the header of extensions fixes.
  static func check(
    _ result: RunnerMessage.CallResult, of call: HostMessage.Call, signature: CallSignature?
  ) throws(ProtocolViolation) {
    let kind: CallSignature.Kind = signature?.result ?? (call == .willTerminate ? .void : .i32)
    guard fits(result.value, kind) else { throw .unexpected("another value than \(kind)") }
    guard hasItsOutputs(result, signature) else {
      throw .unexpected("other buffers than it was given")
    }
    let isChallenge =
      switch call {
      case .authenticationChallenge, .delegate(.challenge): true
      default: false
      }
    guard isChallenge == (result.decision != nil) else {
      throw .unexpected(isChallenge ? "no decision on a challenge" : "a decision on no challenge")
    }
    if case .contentRequest = call { return }
    guard result.downloads.isEmpty, result.refused.isEmpty else {
      throw .unexpected("downloads from a call that has none")
    }
  }

  /// Each argument that comes back, with its size.
  private static func hasItsOutputs(_ result: RunnerMessage.CallResult, _ signature: CallSignature?) -> Bool {
    var sizes = result.out.lazy.map(\.count)[...]
    for kind in signature?.arguments ?? [] {
      guard let size = kind.outputSize else { continue }
      guard sizes.popFirst() == size else { return false }
    }
    return sizes.isEmpty
  }

  private static func fits(_ value: CallValue, _ kind: CallSignature.Kind) -> Bool {
    if let scalar = kind.scalar { return scalar.fits(value) }
    return switch (kind, value) {
    case (.void, .void): true
    case (.cstring, .cstring(let bytes)):
      bytes.map { $0.count <= CallSignature.longestString && !$0.contains(0) } ?? true
    case (.structure(let layout), .bytes(let bytes)): bytes.count == layout.size
    default: false
    }
  }
}
