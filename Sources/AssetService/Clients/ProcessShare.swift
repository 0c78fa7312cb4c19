/// The requests that all connections of one process have under way together: however many connections it has, the others'
/// requests wait behind no more than these.
///
/// @unchecked Sendable: touched on the clients' queue only.
final class ProcessShare: @unchecked Sendable {
  static let maxRequests = 64

  private var requests = 0
  /// Connections that aren't read until there is room, the longest first.
  private var waiting: [ClientConnection] = []
  private var isResuming = false

  var isFull: Bool { requests >= Self.maxRequests }

  func begin() { requests += 1 }
  func end(_ count: Int) { requests -= count }
  func wait(_ connection: ClientConnection) {
    if !waiting.contains(where: { $0 === connection }) { waiting.append(connection) }
  }

  func resume() {
    guard !isResuming else { return }
    isResuming = true
    defer { isResuming = false }
    while !isFull, !waiting.isEmpty { waiting.removeFirst().resumeReading() }
  }
}
