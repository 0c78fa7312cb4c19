internal import ServiceMachines
internal import ServiceProtocol

/// The service's clients: who they are, what they watch, and which of their requests are still to be answered.
struct ClientRegistry {
  var simulations = SimulationWaiters()
  /// Made when the first list is asked for.
  private(set) lazy var lists = ListWorker()

  enum Identity: Sendable, Equatable {
    case unknown
    case app(String)
    case `operator`
  }

  enum Watching: Sendable, Equatable {
    case nothing, everything
    case app(String)

    func includes(_ app: String?) -> Bool {
      switch self {
      case .nothing: false
      case .everything: true
      case .app(let watched): app == watched
      }
    }
  }

  struct Client {
    let connection: ClientConnection
    var identity = Identity.unknown
    var isActive = true
    var isObserving = false
    var watching = Watching.nothing
  }

  /// A request that the machines answer later.
  struct PendingCall {
    let connection: ConnectionID
    let request: UInt64
  }

  private(set) var clients: [ConnectionID: Client] = [:]
  private var calls: [UInt64: PendingCall] = [:]
  private var lastCall: UInt64 = 0
  /// Requests for exclusive control, by claim.
  private var claims: [ExclusiveControl.Claim: UInt64] = [:]

  subscript(id: ConnectionID) -> Client? {
    get { clients[id] }
    set { clients[id] = newValue }
  }

  mutating func add(_ connection: ClientConnection) { clients[connection.id] = Client(connection: connection) }

  /// Returns what it was.
  mutating func remove(_ id: ConnectionID) -> Client? {
    calls = calls.filter { $0.value.connection != id }
    claims = claims.filter { $0.key.holder != .connection(id.number) }
    return clients.removeValue(forKey: id)
  }

  mutating func begin(_ connection: ConnectionID, _ request: UInt64) -> UInt64 {
    lastCall += 1
    calls[lastCall] = PendingCall(connection: connection, request: request)
    return lastCall
  }

  /// Calls that nobody on a socket waits for, of extensions.
  mutating func beginInternal() -> UInt64 {
    lastCall += 1
    return lastCall
  }

  mutating func claim(_ claim: ExclusiveControl.Claim, _ request: UInt64) { claims[claim] = request }
  mutating func takeClaim(_ claim: ExclusiveControl.Claim) -> UInt64? { claims.removeValue(forKey: claim) }

  /// False where the call isn't a client's.
  mutating func answer(_ call: UInt64, _ result: Result<Reply, ServiceFailure>) -> Bool {
    guard let pending = calls.removeValue(forKey: call) else { return false }
    clients[pending.connection]?.connection.answer(pending.request, result)
    return true
  }

  func send(_ message: ServiceMessage, to id: ConnectionID) { clients[id]?.connection.send(message) }

  /// To all who watch an app; nil: the service itself.
  func publish(_ event: WatchEvent, of app: String?) {
    for client in clients.values where client.watching.includes(app) { client.connection.send(.event(event)) }
  }

  var isWatched: Bool { clients.values.contains { $0.watching != .nothing } }
}
