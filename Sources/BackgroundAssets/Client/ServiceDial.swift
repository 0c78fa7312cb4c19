internal import ServiceClient
internal import ServiceProtocol
import Synchronization

/// Makes connections to the service: the one that `outrider launch` handed down first, then those of the socket.
final class ServiceDial: Sendable {
  /// Of this process, as its environment says when it is first asked.
  static let shared = ServiceDial { ProcessInfo.processInfo.environment }

  private let environment: @Sendable () -> [String: String]
  private let mayBeHandedDown = Mutex(true)

  init(environment: @escaping @Sendable () -> [String: String]) { self.environment = environment }

  func connect() throws(ServiceConnectionError) -> ServiceConnection {
    let environment = environment()
    if let connection = handedDown(environment) { return connection }
    return try ServiceConnection.connect(to: ServicePaths(environment: environment, user: geteuid()).socket)
  }

  /// Once. The variable goes and children don't inherit the descriptor: the connection is this app's alone. Nil if the
  /// number isn't that of such a connection, as in a program that a shell started anew: the socket is there as well.
  private func handedDown(_ environment: [String: String]) -> ServiceConnection? {
    guard
      mayBeHandedDown.withLock({ may in
        defer { may = false }
        return may
      }),
      let text = environment[ServicePaths.connectionVariable]
    else { return nil }
    unsetenv(ServicePaths.connectionVariable)
    guard let number = Int32(text) else { return nil }
    return try? ServiceConnection(taking: number)
  }
}
