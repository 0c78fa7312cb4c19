internal import AssetModel
internal import LinuxSystem

/// How many connections a job with a chunk list has, how much each asks for, and which of them are given up because they are
/// slow. A pure value; times are boot time.
struct ConnectionPlanner {
  /// A connection as it is measured.
  struct Connection {
    var source: Int
    /// Bytes that it brought, and since when; nil: no answer has come.
    var received: Int64
    var began: Duration?
    /// Bytes that are still to come on it; nil where it fetches no chunks.
    var remaining: Int64?
    /// When its request was made; nil: it was answered, or waits for something other than the server.
    var silentSince: Duration?
    /// It is held back by this side, so that its rate says nothing of its peer.
    var isHeldBack: Bool
  }

  /// Connections beside each other, at most.
  struct Limits: Sendable {
    var foreground: Int
    var essential: Int
  }

  /// Whether the sources may have no ranges: then there is one connection.
  var mayBeRangeless = false
  private var growth = SegmentGrowth()
  /// Bytes per second that one connection brought, and how often a slow one was replaced.
  private var bestRate = 0.0
  private var replacements = 0
  /// Whether it was decided how many connections it starts with.
  private var hasSeveral = false

  private static let firstConnections = 4
  /// Bytes that are missing, below which no connection is added, and below which it begins with one.
  private static let worthAnother: Int64 = 16 << 20
  private static let worthSeveral: Int64 = 64 << 20
  private static let largestPiece: Int64 = 32 << 20
  static let maxReplacements = 16
  static let measuringTime: Duration = .seconds(3)
  /// Bytes per second below which, after so long, a mirror may do better.
  static let poorRate = 64.0 * 1024
  static let timeToBePoor: Duration = .seconds(10)
  /// Bytes from which on the rate of a connection says something.
  private static let worthMeasuring: Int64 = 256 << 10

  func maxConnections(_ transferClass: TransferClass, _ limits: Limits) -> Int {
    if mayBeRangeless { return 1 }
    switch transferClass {
    case .foreground: return limits.foreground
    case .essential: return limits.essential
    case .background, .prefetch: return 1
    }
  }

  /// Bytes that one request of several asks for.
  func pieceSize(missing: Int64, chunkSize: Int64, connections: Int, maxConnections: Int) -> Int64 {
    guard maxConnections > 1 else { return .max }
    return min(max(missing / Int64(2 * max(1, connections)), chunkSize), Self.largestPiece)
  }

  /// How many connections are to be added to those that there are: several at first, as soon as the first shows that there
  /// are ranges, then as long as the last ones added throughput. `written`: bytes on the file.
  mutating func additions(
    missing: Int64, connections: Int, maxConnections: Int, hashesChunks: Bool, written: Int64, now: Duration
  ) -> Int {
    guard connections < maxConnections, !mayBeRangeless || !hashesChunks,
      missing >= Self.worthAnother || connections == 0
    else {
      return 0
    }
    if !hasSeveral {
      hasSeveral = true
      return missing >= Self.worthSeveral ? max(0, min(Self.firstConnections, maxConnections) - connections) : 0
    }
    guard growth.permits(connections: connections, bytes: written, now: now) else { return 0 }
    // As many again: what the last ones brought is the best guess at what others will.
    return min(max(1, connections), maxConnections - connections)
  }

  /// The first connection that isn't waited for: it is far behind what another one brought, or silent, and no other will come
  /// to what is left. Its remaining bytes are asked for on a new one. `hasOther` and `hasQuicker` say of a source whether there is
  /// another at all, and one that was not slow yet.
  mutating func slowest(
    of connections: [Connection], missing: Int64, now: Duration, hasOther: (Int) -> Bool, hasQuicker: (Int) -> Bool
  ) -> Int? {
    guard replacements < Self.maxReplacements, !mayBeRangeless, missing == 0 || connections.count == 1 else {
      return nil
    }
    let slow = connections.firstIndex { connection in
      if let since = connection.silentSince { return now - since >= Self.measuringTime && hasOther(connection.source) }
      guard let began = connection.began, let remaining = connection.remaining, remaining > 0, !connection.isHeldBack,
        now - began >= Self.measuringTime
      else { return false }
      let rate = Double(connection.received) / (now - began).inSeconds
      let bytes = Double(remaining)
      let isBehind = bytes > rate * (bytes / max(bestRate, 1) * 4 + Self.measuringTime.inSeconds)
      // With nothing to compare it with, another source is tried.
      let isPoor =
        bestRate < Self.poorRate && rate < Self.poorRate && now - began >= Self.timeToBePoor
        && hasQuicker(connection.source)
      return isBehind || isPoor
    }
    if slow != nil { replacements += 1 }
    return slow
  }

  /// What one connection can bring, by which others are measured.
  mutating func noteRate(received: Int64, since began: Duration?, now: Duration) {
    guard let began, received >= Self.worthMeasuring, now > began else { return }
    bestRate = max(bestRate, Double(received) / (now - began).inSeconds)
  }
}
