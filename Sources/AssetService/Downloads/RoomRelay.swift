internal import Downloads
internal import Synchronization

/// Hands the engine's request for room to a service that is made after it.
final class RoomRelay: Sendable {
  typealias Server = @Sendable (SpaceShortage) async -> Bool

  private let server = Mutex<Server?>(nil)

  func serve(_ body: @escaping Server) { server.withLock { $0 = body } }

  func makeRoom(_ shortage: SpaceShortage) async -> Bool {
    guard let server = server.withLock({ $0 }) else { return false }
    return await server(shortage)
  }
}
