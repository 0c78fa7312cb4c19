internal import LinuxSystem

/// What all connections of one process have together: however many it has, the others' requests wait behind no more than
/// `maxRequests` of these and `maxMessages` in each turn of the loop, and one of its long answers is made at a time.
///
/// @unchecked Sendable: touched on the service's loop only.
final class ProcessShare: @unchecked Sendable {
  static let maxRequests = 64
  /// Messages, and looks for more of them, in one turn.
  static let maxMessages = 8

  private struct Encoding {
    let make: @Sendable () -> [[UInt8]]
    let worker: ListWorker
    let then: ([[UInt8]]) -> Void
  }

  private var requests = 0
  /// Connections that aren't read until there is room, the longest first.
  private var waiting: [ClientConnection] = []
  private var isResuming = false
  private var encodings: [Encoding] = []
  private var isEncoding = false
  /// Of all long answers so far.
  private(set) var bytesMade = 0
  private let loop: EventLoop
  private var turn: UInt64 = 0
  private var messages = 0
  private var isToldOfNextTurn = false

  init(on loop: EventLoop) { self.loop = loop }

  var isFull: Bool { requests >= Self.maxRequests || isSpent }

  private var isSpent: Bool { turn == loop.turn && messages >= Self.maxMessages }

  /// A message is looked at.
  func take() {
    if turn != loop.turn { (turn, messages) = (loop.turn, 0) }
    messages += 1
  }

  func begin() { requests += 1 }
  func end(_ count: Int) { requests -= count }
  func wait(_ connection: ClientConnection) {
    if !waiting.contains(where: { $0 === connection }) { waiting.append(connection) }
    if isSpent { awaitNextTurn() }
  }

  private func awaitNextTurn() {
    guard !isToldOfNextTurn else { return }
    isToldOfNextTurn = true
    loop.submit { [self] in
      isToldOfNextTurn = false
      resume()
    }
  }

  func resume() {
    guard !isResuming else { return }
    isResuming = true
    defer { isResuming = false }
    while !isFull, !waiting.isEmpty { waiting.removeFirst().resumeReading() }
    if !waiting.isEmpty, isSpent { awaitNextTurn() }
  }

  /// Has frames made by a worker, after those that were asked for before, and calls `then` with them on the loop.
  func encode(
    by worker: ListWorker, _ make: @escaping @Sendable () -> [[UInt8]], then: @escaping ([[UInt8]]) -> Void
  ) {
    encodings.append(Encoding(make: make, worker: worker, then: then))
    if !isEncoding { encodeNext() }
  }

  private func encodeNext() {
    isEncoding = !encodings.isEmpty
    guard isEncoding else { return }
    let make = encodings[0].make
    encodings[0].worker.run { [self] in
      let frames = make()
      loop.submit { [self] in
        let done = encodings.removeFirst()
        bytesMade += frames.reduce(0) { $0 + $1.count }
        encodeNext()
        done.then(frames)
      }
    }
  }
}
