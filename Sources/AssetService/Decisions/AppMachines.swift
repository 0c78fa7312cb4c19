internal import ServiceMachines

/// The machines of one app, and what they have to know of it.
struct AppMachines: Sendable, Equatable {
  /// What decisions need of a bundle.
  struct Facts: Sendable, Equatable, Codable {
    /// For the allow list.
    var manifestHost: String
    var limits: Restrictions.Limits
    /// Tells this installation from earlier ones of the same app.
    var installation = ""
  }

  var facts: Facts
  var lifecycle: AppLifecycle
  var registry: DownloadRegistry
  var router: EventRouter
  var ledger: DeliveryLedger
  var control: ExclusiveControl
  var restrictions: Restrictions
  var progress: InstallProgress
  /// Of this service alone: the next one begins anew.
  var pace = RetryPace()
  /// Unique identifier of the manifest's download, by generation.
  var manifests: [Int: String] = [:]
  /// Downloads that are charged to an allowance.
  var budgets: [String: Restrictions.Budget] = [:]
  /// Settled downloads that have no file: their failure has to be delivered.
  var failed: Set<String> = []
  /// Downloads of the version that is being installed or updated to, as long as the gate is closed.
  var gated: Set<String> = []
  /// While an update is under way: what there is to know of the version that counts.
  var formerFacts: Facts?
  /// Occurrences that are under way, by their numbers.
  var occurrences: [Int64: EventRouter.Occurrence] = [:]
  /// What the machine that was asked last wants of the others.
  var effects: [ServiceCore.Effect] = []
}

/// The name under which a machine's state lies in the journal.
enum MachineName: String, Sendable, CaseIterable {
  case facts, lifecycle, ledger, control, restrictions, progress, names
}
