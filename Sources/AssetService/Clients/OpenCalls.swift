internal import AssetModel
internal import Foundation
internal import Glibc
internal import ServiceMachines
internal import ServiceProtocol

/// Requests that the machines answer later: of clients, and of those that wait in the service, which are runs of extensions and
/// operators.
final class OpenCalls {
  private enum Caller {
    /// `success`: what it gets unless the call is refused.
    case client(ConnectionID, request: UInt64, success: Reply)
    case waiter(CheckedContinuation<Int32, Never>)
  }

  private let clients: ClientRegistry
  private var callers: [UInt64: Caller] = [:]
  private var lastCall: UInt64 = 0
  /// The clients' requests for exclusive control.
  private var claims: [ExclusiveControl.Claim: UInt64] = [:]

  init(clients: ClientRegistry) { self.clients = clients }

  /// A number for a call that no call has had yet.
  func newCall() -> UInt64 {
    lastCall += 1
    return lastCall
  }

  func begin(_ connection: ConnectionID, _ request: UInt64, success: Reply = .done) -> UInt64 {
    let call = newCall()
    callers[call] = .client(connection, request: request, success: success)
    return call
  }

  func begin(_ claim: ExclusiveControl.Claim, _ request: UInt64) { claims[claim] = request }

  /// Waits for the answer to a call that `ask` asks: 0, or the code of an error.
  func answer(to call: UInt64, _ ask: () -> Void) async -> Int32 {
    await withCheckedContinuation { continuation in
      callers[call] = .waiter(continuation)
      ask()
    }
  }

  /// The connection is gone, and so are its pending calls.
  func drop(_ connection: ConnectionID) {
    callers = callers.filter { _, caller in
      if case .client(connection, _, _) = caller { false } else { true }
    }
    claims = claims.filter { $0.key.holder != .connection(connection.number) }
  }

  /// No machine answers the pending calls of a connection any more.
  func refuse(_ connection: ConnectionID, _ failure: ServiceFailure) {
    for case (let call, .client(connection, let request, _)) in callers {
      callers[call] = nil
      clients.answer(connection, request, .failure(failure))
    }
  }

  func reply(_ call: UInt64, _ result: Result<String, Failure>) {
    switch callers.removeValue(forKey: call) {
    case .waiter(let continuation):
      switch result {
      case .success: continuation.resume(returning: 0)
      case .failure(let failure): continuation.resume(returning: Int32(failure.code))
      }
    case .client(let connection, let request, let success):
      clients.answer(connection, request, result.map { _ in success }.mapError { ServiceFailure($0) })
    case nil: break
    }
  }

  func reply(_ claim: ExclusiveControl.Claim, _ refusal: ExclusiveControl.Refusal?, of app: String) {
    switch claim.holder {
    case .run:
      guard case .waiter(let continuation) = callers.removeValue(forKey: claim.token) else { return }
      continuation.resume(returning: refusal == nil ? 0 : -1)
    case .connection(let number):
      guard let request = claims.removeValue(forKey: claim) else { return }
      clients.answer(
        ConnectionID(number: number), request, refusal.map { .failure(Self.failure($0, of: app)) } ?? .success(.done))
    }
  }

  /// The connection is as good as before, so that what wasn't granted in time isn't a matter of 56.
  private static func failure(_ refusal: ExclusiveControl.Refusal, of app: String) -> ServiceFailure {
    switch refusal {
    case .notInTime:
      ServiceFailure(
        domain: ServiceFailure.frameworkDomain, code: 0, message: "exclusive control wasn't acquired in time",
        underlyingDomain: NSPOSIXErrorDomain, underlyingCode: Int(ETIMEDOUT))
    case .tokenInUse: .framework(56, "the request is under way already")
    case .tooMany: .framework(56, "too many requests for exclusive control are waiting")
    case .appRemoved: .uninstalled(app)
    }
  }
}
