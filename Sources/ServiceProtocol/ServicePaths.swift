/// Where the service keeps what it has. `state` moves all of it below one folder.
public struct ServicePaths: Sendable, Equatable, Codable {
  /// The folder of the socket and the lock, mode 0700.
  public var runtime: String
  /// The database and settings.
  public var store: String
  /// `apps/ID/VERSION/Name.app`.
  public var apps: String
  /// `groups/GROUP/container`.
  public var groups: String

  /// The socket that clients connect to.
  public var socket: String { "\(runtime)/\(Self.socketName)" }
  /// What the service locks while it runs.
  public var lock: String { "\(runtime)/service.lock" }

  /// The socket's name within `runtime`.
  public static let socketName = "service.sock"
  /// The longest path of a socket: `sun_path` less its NUL (unix(7)).
  public static let maxSocketPath = 107
  /// Names the state folder to the processes that a command starts.
  public static let stateVariable = "OUTRIDER_STATE"
  /// The connection that `outrider launch` hands down, by its number.
  public static let connectionVariable = "OUTRIDER_CONNECTION"

  /// The folder of the socket where no runtime folder is named.
  ///
  /// - Parameter user: The user's identifier.
  /// - Returns: A path below /tmp.
  public static func sharedRuntime(of user: UInt32) -> String { "/tmp/outrider-service-\(user)" }

  /// Creates paths that lie anywhere.
  public init(runtime: String, store: String, apps: String, groups: String) {
    self.runtime = runtime
    self.store = store
    self.apps = apps
    self.groups = groups
  }

  /// Creates paths that all lie below one folder.
  ///
  /// - Parameter state: The folder, absolute.
  public init(state: String) {
    self.init(runtime: "\(state)/run", store: "\(state)/store", apps: "\(state)/apps", groups: "\(state)/groups")
  }

  /// As the XDG base directory specification has them, or below `OUTRIDER_STATE`.
  ///
  /// - Parameters:
  ///   - environment: Variables by their names; those that aren't absolute paths don't count.
  ///   - user: The user's identifier, for a runtime folder where none is named.
  ///   - accountHome: The home folder of the user's account, where HOME names none. The socket doesn't depend on it.
  public init(environment: [String: String], user: UInt32, accountHome: @autoclosure () -> String? = nil) {
    func folder(_ variable: String) -> String? {
      environment[variable].flatMap { $0.utf8.first == UInt8(ascii: "/") ? $0 : nil }
    }
    if let state = folder(Self.stateVariable) {
      self.init(state: state)
      return
    }
    let home = folder("HOME") ?? accountHome() ?? "/"
    let data = "\(folder("XDG_DATA_HOME") ?? "\(home)/.local/share")/outrider"
    self.init(
      runtime: folder("XDG_RUNTIME_DIR").map { "\($0)/outrider" } ?? Self.sharedRuntime(of: user),
      store: "\(folder("XDG_STATE_HOME") ?? "\(home)/.local/state")/outrider",
      apps: "\(data)/apps", groups: "\(data)/groups")
  }
}
