internal import AssetStore
internal import Foundation
internal import ServiceMachines
internal import ServiceProtocol

/// A download as the service keeps it: what was asked for, where the registry has it, and what became of it.
///
/// There may be 100,000 of them: what few have takes no room in the others.
struct ScheduledDownload: Sendable, Equatable {
  var value: DownloadValue
  var entry: DownloadRegistry.Entry?
  private var failureElsewhere: Elsewhere<ServiceFailure>?
  private var transferElsewhere: Elsewhere<TransferFacts>?

  /// Its file and its transfer are to go, and then this row.
  var isDiscarded = false
  /// Three recipients ended while they were told of its file: that stays where it is until there is no room for it.
  var isUndelivered = false
  /// Its access expired once and its extension gave another request for it, which `value` has.
  var hasFreshAnswer = false

  /// Why it failed; for whoever has to be told.
  var failure: ServiceFailure? {
    get { failureElsewhere?.value }
    set { failureElsewhere = newValue.map { .value($0) } }
  }

  /// What is known of its transfer, as long as the service runs.
  var transfer: TransferFacts {
    get { transferElsewhere?.value ?? TransferFacts() }
    set { transferElsewhere = newValue == TransferFacts() ? nil : .value(newValue) }
  }

  init(value: DownloadValue, entry: DownloadRegistry.Entry? = nil, failure: ServiceFailure? = nil) {
    self.value = value
    self.entry = entry
    self.failure = failure
  }

  private indirect enum Elsewhere<Value: Sendable & Equatable>: Sendable, Equatable {
    case value(Value)

    var value: Value {
      switch self {
      case .value(let value): value
      }
    }
  }
}

struct TransferFacts: Sendable, Equatable {
  var received: Int64 = 0
  var total: Int64?
  var bytesPerSecond: Double?
  var waiting: DownloadSummary.Waiting?
}
