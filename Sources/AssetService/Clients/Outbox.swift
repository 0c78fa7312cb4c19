internal import ServiceProtocol

/// What waits to be read by one client: bounded, and progress is never queued behind.
///
/// Of progress only the newest of each download is kept, and it goes out when everything else has. Messages that no request asked for
/// and that can't be merged are limited, and so are answers; a client that reads too slowly for them is disconnected.
struct Outbox {
  /// Bytes of events and calls, and of answers to what the client itself asked.
  static let maxUnsolicited = 1 << 20
  static let maxAnswers = 64 << 20
  /// Bytes of answers with which nothing more is read.
  static let maxWaitingAnswers = 256 << 10

  /// Where an answer goes that is still being made: what is said after it waits for it.
  struct Place: Sendable, Equatable {
    fileprivate let number: UInt64
  }

  private struct Frame {
    var bytes: ArraySlice<UInt8>
    let isAnswer: Bool
    /// Of which nothing is there yet.
    var place: Place?
  }

  private var frames: [Frame] = []
  private var lastPlace: UInt64 = 0
  private var head = 0
  private var unsolicited = 0
  private var answers = 0
  /// By unique identifier, in the order in which they became due.
  private var progress: [String: ServiceMessage] = [:]
  private var progressOrder: [String] = []

  var isEmpty: Bool { head == frames.count && progress.isEmpty }

  /// Answers wait that the client doesn't read: it has to read some before it is asked what it wants next.
  var isHeldUp: Bool { answers >= Self.maxWaitingAnswers }

  /// False: there is no room, and the connection ends.
  mutating func append(_ bytes: [UInt8], isAnswer: Bool) -> Bool {
    if isAnswer { answers += bytes.count } else { unsolicited += bytes.count }
    guard answers <= Self.maxAnswers, unsolicited <= Self.maxUnsolicited else { return false }
    frames.append(Frame(bytes: bytes[...], isAnswer: isAnswer))
    return true
  }

  mutating func reserve() -> Place {
    lastPlace += 1
    let place = Place(number: lastPlace)
    frames.append(Frame(bytes: [], isAnswer: true, place: place))
    return place
  }

  /// Frames of one answer, at its place if it has one, else behind everything. False: there is no room, and the connection
  /// ends.
  mutating func append(_ answer: [[UInt8]], at place: Place?) -> Bool {
    answers += answer.reduce(0) { $0 + $1.count }
    guard answers <= Self.maxAnswers else { return false }
    let index = place.flatMap { place in frames.firstIndex { $0.place == place } }
    frames.replaceSubrange(
      index.map { $0..<($0 + 1) } ?? frames.endIndex..<frames.endIndex,
      with: answer.map { Frame(bytes: $0[...], isAnswer: true) })
    return true
  }

  /// Takes the place of what waits for the same download.
  mutating func setProgress(_ message: ServiceMessage, of download: String) {
    if progress.updateValue(message, forKey: download) == nil { progressOrder.append(download) }
  }

  /// The download is settled: its progress is of no interest any more.
  mutating func dropProgress(of download: String) { progress[download] = nil }

  /// The bytes that are next, without taking them.
  mutating func next() -> ArraySlice<UInt8>? {
    if head < frames.count { return frames[head].place == nil ? frames[head].bytes : nil }
    while let download = progressOrder.first {
      progressOrder.removeFirst()
      guard let message = progress.removeValue(forKey: download), let bytes = try? FrameCodec.encode(message) else {
        continue
      }
      unsolicited += bytes.count
      frames.append(Frame(bytes: bytes[...], isAnswer: false))
      return frames[head].bytes
    }
    return nil
  }

  /// So many bytes of what `next` gave have gone.
  mutating func sent(_ count: Int) {
    let frame = frames[head]
    if frame.isAnswer { answers -= count } else { unsolicited -= count }
    frames[head].bytes = frame.bytes.dropFirst(count)
    guard frames[head].bytes.isEmpty else { return }
    frames[head].bytes = []
    head += 1
    if head == frames.count || head > 1024 {
      frames.removeFirst(head)
      head = 0
    }
  }
}

/// Makes frames of an answer: a list that doesn't fit into one comes in parts.
enum ReplyFrames {
  static func frames(_ id: UInt64, _ result: Result<Reply, ServiceFailure>) -> [[UInt8]] {
    switch result {
    case .success(let reply): frames(id, reply)
    case .failure(let failure):
      [(try? FrameCodec.encode(ServiceMessage.failure(id: id, failure: failure))) ?? []]
    }
  }

  static func frames(_ id: UInt64, _ reply: Reply) -> [[UInt8]] {
    if let whole = try? FrameCodec.encode(ServiceMessage.reply(id: id, reply: reply)) { return [whole] }
    guard let (first, second) = reply.halves else {
      let failure = ServiceFailure.command(74, "an answer is longer than a frame may be, and can't be divided")
      return (try? [FrameCodec.encode(ServiceMessage.failure(id: id, failure: failure))]) ?? []
    }
    return parts(id, first) + frames(id, second)
  }

  private static func parts(_ id: UInt64, _ reply: Reply) -> [[UInt8]] {
    if let part = try? FrameCodec.encode(ServiceMessage.part(id: id, reply: reply)) { return [part] }
    guard let (first, second) = reply.halves else { return [] }
    return parts(id, first) + parts(id, second)
  }
}

extension Reply {
  /// Elements of a list with which its frames are made beside the loop: some hundred microseconds.
  private static let long = 100

  var isLong: Bool {
    switch self {
    case .downloads(let all): all.count > Self.long
    case .apps(let all): all.count > Self.long
    case .downloadList(let all): all.count > Self.long
    case .runs(let all): all.count > Self.long
    case .log(let all): all.count > Self.long
    case .welcome, .done, .explanation, .settings, .launch, .status: false
    }
  }

  fileprivate var halves: (Reply, Reply)? {
    func split<Element>(_ all: [Element], _ make: ([Element]) -> Reply) -> (Reply, Reply)? {
      guard all.count > 1 else { return nil }
      return (make(Array(all[..<(all.count / 2)])), make(Array(all[(all.count / 2)...])))
    }
    return switch self {
    case .downloads(let all): split(all) { .downloads($0) }
    case .apps(let all): split(all) { .apps($0) }
    case .downloadList(let all): split(all) { .downloadList($0) }
    case .runs(let all): split(all) { .runs($0) }
    case .log(let all): split(all) { .log($0) }
    case .welcome, .done, .explanation, .settings, .launch, .status: nil
    }
  }
}
