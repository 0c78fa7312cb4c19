internal import Downloads
internal import ServiceMachines
internal import Synchronization

/// What the service knows of the machine: what is read, and what users have set instead.
struct MachineWatch {
  /// nil: it hasn't been read yet.
  var state: MachineState? {
    didSet {
      portal.set(state?.isBehindPortal ?? false)
      language.take(state?.language)
    }
  }
  private var language: LanguageChoice
  let portal = LoginPage()
  private var monitor: MachineMonitor?
  private var readings: Task<Void, Never>?

  /// `language`: that the service was started with.
  init(language: String? = nil) { self.language = LanguageChoice(language) }

  /// `told` gets the readings in their order.
  mutating func begin(
    _ sources: AssetService.MachineSources, told: @escaping @Sendable (MachineState, Bool) async -> Void
  ) throws {
    let (arrivals, continuation) = AsyncStream.makeStream(of: (MachineState, Bool).self)
    monitor = try MachineMonitor(sources) { continuation.yield(($0, $1)) }
    readings = Task { for await (state, hasSlept) in arrivals { await told(state, hasSlept) } }
  }

  mutating func end() {
    monitor = nil
    readings?.cancel()
  }

  /// `former`: for what isn't known now; of what users had set, `replaced`, nothing stays.
  func conditions(
    _ former: Conditions, settings: ServiceSettings, replacing replaced: ServiceSettings? = nil
  ) -> Conditions {
    var former = former
    if replaced?.isLowPower != nil { former.isLowPower = false }
    if replaced?.isMetered != nil { former.isMetered = false }
    if replaced?.language != nil { former.language = nil }
    var conditions = former
    conditions.isLowPower = settings.isLowPower ?? state?.isLowPower ?? former.isLowPower
    conditions.isMetered = settings.isMetered ?? state?.isMetered ?? former.isMetered
    conditions.isOnline = state?.isOnline ?? former.isOnline
    conditions.language = settings.language ?? language.current ?? former.language
    return conditions
  }

  /// The same for the engine, which tells a low battery from saving power where it explains what waits.
  func engineConditions(_ conditions: Conditions, settings: ServiceSettings) -> MachineConditions {
    var told = MachineConditions()
    told.isMetered = conditions.isMetered
    told.isOnline = conditions.isOnline
    told.isBehindPortal = portal.isThere
    told.isSavingPower = conditions.isLowPower
    told.essentialTimeout = settings.essentialWait
    told.progressTimeout = settings.backgroundWait
    if settings.isLowPower == nil, let state, let level = state.battery {
      told.isSavingPower = state.savesPower
      told.battery = .init(level: level, threshold: MachineState.lowBattery)
    }
    return told
  }
}

/// The language that the user prefers: what the service was started with, until the machine's own changes.
struct LanguageChoice: Sendable, Equatable {
  /// A language tag; nil: unknown.
  private(set) var current: String?
  /// What the machine said last.
  private var ofMachine: String?
  private var isRead = false

  init(_ language: String?) { current = language }

  /// What the machine says now.
  mutating func take(_ language: String?) {
    defer { (ofMachine, isRead) = (language, true) }
    if let language, isRead ? language != ofMachine : current == nil { current = language }
  }
}

/// Whether the network leads to a login page, readable from any thread.
final class LoginPage: Sendable {
  private let isThereNow = Atomic(false)

  var isThere: Bool { isThereNow.load(ordering: .relaxed) }

  func set(_ isThere: Bool) { isThereNow.store(isThere, ordering: .relaxed) }
}
