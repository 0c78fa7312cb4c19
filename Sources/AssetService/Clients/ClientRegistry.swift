internal import ServiceMachines
internal import ServiceProtocol

/// The service's clients: who they are and what they watch.
final class ClientRegistry {
  /// Made when the first list is asked for.
  private(set) lazy var lists = ListWorker()

  enum Identity: Sendable, Equatable {
    case unknown
    case app(String)
    /// Of an app that was uninstalled while it runs. One that is installed under its name later isn't its.
    case uninstalled(String)
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

  private(set) var clients: [ConnectionID: Client] = [:]

  subscript(id: ConnectionID) -> Client? {
    get { clients[id] }
    set { clients[id] = newValue }
  }

  func add(_ connection: ClientConnection) { clients[connection.id] = Client(connection: connection) }

  /// Returns what it was.
  func remove(_ id: ConnectionID) -> Client? { clients.removeValue(forKey: id) }

  func send(_ message: ServiceMessage, to id: ConnectionID) { clients[id]?.connection.send(message) }

  func answer(_ id: ConnectionID, _ request: UInt64, _ result: Result<Reply, ServiceFailure>) {
    clients[id]?.connection.answer(request, result)
  }

  /// To all who watch an app; nil: the service itself.
  func publish(_ event: WatchEvent, of app: String?) {
    for client in clients.values where client.watching.includes(app) { client.connection.send(.event(event)) }
  }

  var isWatched: Bool { clients.values.contains { $0.watching != .nothing } }

  /// Apps that are connected.
  var apps: [String] {
    clients.values.compactMap { client in
      if case .app(let app) = client.identity { app } else { nil }
    }
  }

  /// The app is gone: its processes get nothing of one that is installed under its name. Returns their connections.
  func uninstalled(_ app: String) -> [ConnectionID] {
    let gone = clients.filter { $0.value.identity == .app(app) }.map(\.key)
    for id in gone { clients[id]?.identity = .uninstalled(app) }
    return gone
  }

  func endAll() { for client in clients.values { client.connection.end(nil) } }
}
