internal import AssetStore
internal import ServiceMachines
internal import ServiceProtocol

/// A download as the service keeps it: what was asked for, where the registry has it, and what became of it.
///
/// There may be 100,000 of them: what few have takes no room in the others.
struct ScheduledDownload: Sendable, Equatable {
  private struct Fields: Sendable, Equatable {
    var value: DownloadValue
    var entry: DownloadRegistry.Entry?
    var failure: Boxed<ServiceFailure>?
    var transfer: Boxed<TransferFacts>?
    var isDiscarded = false
    var isUndelivered = false
    var hasFreshAnswer = false
  }

  private var fields: Boxed<Fields>

  init(value: DownloadValue, entry: DownloadRegistry.Entry? = nil, failure: ServiceFailure? = nil) {
    fields = Boxed(Fields(value: value, entry: entry, failure: failure.map(Boxed.init)))
  }

  var value: DownloadValue {
    _read { yield fields.content.value }
    _modify { yield &fields.content.value }
  }

  var entry: DownloadRegistry.Entry? {
    _read { yield fields.content.entry }
    _modify { yield &fields.content.entry }
  }

  /// Why it failed, for its recipients.
  var failure: ServiceFailure? {
    get { fields.content.failure?.content }
    set { fields.content.failure = newValue.map(Boxed.init) }
  }

  /// What is known of its transfer, as long as the service runs.
  var transfer: TransferFacts {
    get { fields.content.transfer?.content ?? TransferFacts() }
    set { fields.content.transfer = newValue == TransferFacts() ? nil : Boxed(newValue) }
  }

  /// Most that wait do so for the same reason, and say so in the same words.
  mutating func share(_ parts: inout SharedParts) {
    guard let transfer = fields.content.transfer else { return }
    if let former = parts.transfer, former.content == transfer.content {
      fields.content.transfer = former
    } else {
      parts.transfer = transfer
    }
  }

  /// Its file and its transfer are to go, and then this row.
  var isDiscarded: Bool {
    get { fields.content.isDiscarded }
    set { fields.content.isDiscarded = newValue }
  }

  /// Three recipients ended while they were told of its file: that stays where it is until there is no room for it.
  var isUndelivered: Bool {
    get { fields.content.isUndelivered }
    set { fields.content.isUndelivered = newValue }
  }

  /// Its access expired once and its extension gave another request for it, which `value` has.
  var hasFreshAnswer: Bool {
    get { fields.content.hasFreshAnswer }
    set { fields.content.hasFreshAnswer = newValue }
  }
}

/// What many downloads have in common, in memory once.
struct SharedParts {
  var names = SharedNames()
  var transfer: Boxed<TransferFacts>?
}

struct TransferFacts: Sendable, Equatable {
  var received: Int64 = 0
  var total: Int64?
  var bytesPerSecond: Double?
  var waiting: TransferWait?
  /// Its owner answered a challenge with a cancellation.
  var isChallengeCancelled = false
}
