internal import ServiceMachines
internal import ServiceProtocol

/// A run of an extension that is under way.
struct ActiveRun {
  let run: ExtensionRun
  let app: String
  /// The generation of the content request; nil: callbacks.
  let generation: Int?
  /// Calls that it hasn't answered.
  var calls: Set<Int64> = []
  /// Those of them that it has begun with.
  var begun: Set<Int64> = []
  /// What its delegate hasn't been told yet, and doesn't have to answer.
  var notices: Set<Notice> = []
  var isReady = false
  /// It was told to end: it does what it was called for before, and nothing more.
  var isEnding = false
  var summary: RunSummary

  struct Notice: Hashable {
    var kind: EventRouter.Kind
    var uniqueIdentifier: String
  }
}
