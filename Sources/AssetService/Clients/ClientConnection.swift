internal import Glibc
internal import LinuxSystem
internal import ServiceProtocol

/// The number of a connection; never used twice in the life of a service.
struct ConnectionID: Sendable, Hashable, Comparable, CustomStringConvertible {
  let number: Int64

  static func < (left: Self, right: Self) -> Bool { left.number < right.number }
  var description: String { "\(number)" }
}

/// One client's socket. Frames are taken apart and put together here, and everything has a bound; what they mean is the
/// service's affair.
///
/// @unchecked Sendable: touched on the service's loop only.
final class ClientConnection: @unchecked Sendable {
  enum Arrival: Sendable {
    case message(ClientMessage)
    /// The last word of a connection; nil: the client closed it.
    case closed(reason: String?)
  }

  /// Requests without an answer, and answers that the service hasn't looked at; then nothing is read until one has gone.
  static let maxRequests = 64
  /// Bytes that are read at once. They may be a hundred messages, each of which the kernel keeps by itself.
  private static let maxRead = 8192
  /// Seconds in which a client has to say who it is. Counted in looks, one each second, between which what it says is read: a
  /// machine that stood still for longer has looked once.
  static let greetingSeconds = 10

  let id: ConnectionID
  let process: Int32
  /// What the process executed when it connected; nil where that can't be seen.
  let executable: (path: String, identity: FileIdentity)?
  private let socket: OwnedDescriptor
  private let loop: EventLoop
  private let share: ProcessShare
  /// Never called by a method that the service calls: it may be changing what it would have to look at.
  private let receive: @Sendable (ConnectionID, Arrival) -> Void
  private let deadline: TimerKey
  private var watched: UInt64?
  private var assembler = FrameAssembler()
  private var outbox = Outbox()
  private var requests: Set<UInt64> = []
  private var answers = 0
  private var isReading = true
  private var isDecoding = false
  private var isWriting = false
  private var isClosed = false

  init(
    _ id: ConnectionID, taking socket: consuming OwnedDescriptor, of peer: borrowing Peer, sharing share: ProcessShare,
    on loop: EventLoop, receive: @escaping @Sendable (ConnectionID, Arrival) -> Void
  ) {
    self.id = id
    self.socket = socket
    self.share = share
    self.loop = loop
    self.receive = receive
    process = peer.process
    executable = peer.executable()
    deadline = loop.newTimer()
  }

  func start() {
    do throws(SystemCallError) { watched = try loop.watch(socket.number) { [weak self] in self?.ready() } } catch {
      return close(error.description)
    }
    awaitGreeting()
  }

  private func awaitGreeting(looks: Int = 1) {
    loop.setTimer(deadline, at: BootClock.now + .seconds(1)) { [weak self] in
      guard let self else { return }
      // It may have said so, and it is the service that hasn't read it.
      if !isReading { return awaitGreeting() }
      if looks < Self.greetingSeconds { return awaitGreeting(looks: looks + 1) }
      close("it sent no greeting within \(Self.greetingSeconds) s")
    }
  }

  // MARK: What the service says

  /// The connection is known: it may stay.
  func greeted() { loop.setTimer(deadline, at: nil) }

  func answer(_ id: UInt64, _ result: Result<Reply, ServiceFailure>) {
    guard !isClosed, requests.contains(id) else { return }
    switch result {
    case .success(let reply) where reply.isLong:
      makeAnswer(id, .apps) { ReplyFrames.frames(id, reply) }
    default: answered(id, ReplyFrames.frames(id, result))
    }
  }

  /// An answer that takes some time to put together: by `worker`, one after the other for each process.
  func answer(
    _ id: UInt64, by worker: ListWorker, making list: @escaping @Sendable () -> Result<Reply, ServiceFailure>
  ) {
    guard !isClosed, requests.contains(id) else { return }
    makeAnswer(id, worker) { ReplyFrames.frames(id, list()) }
  }

  private func makeAnswer(_ id: UInt64, _ worker: ListWorker, _ make: @escaping @Sendable () -> [[UInt8]]) {
    // Its place is kept: what is said after it may be about what is in it.
    let place = outbox.reserve()
    share.encode(by: worker, make) { [weak self] in self?.encoded(id, place, $0) }
  }

  private func encoded(_ id: UInt64, _ place: Outbox.Place, _ frames: [[UInt8]]) {
    guard !isClosed else { return }
    answered(id, frames, at: place)
  }

  private func answered(_ id: UInt64, _ frames: [[UInt8]], at place: Outbox.Place? = nil) {
    requests.remove(id)
    share.end(1)
    guard outbox.append(frames, at: place) else { return close("it doesn't read its answers") }
    write()
    resumeReading()
    share.resume()
  }

  /// The service has looked at an answer of the client.
  func tookAnswer() {
    answers -= 1
    resumeReading()
  }

  func send(_ message: ServiceMessage) {
    guard !isClosed else { return }
    switch message {
    case .notify(.progress(let download, _, _)): outbox.setProgress(message, of: download.uniqueIdentifier)
    case .event(.download(let download)) where download.state == "downloading":
      outbox.setProgress(message, of: download.uniqueIdentifier)
    default:
      if case .call(_, let event) = message { outbox.dropProgress(of: event.download.uniqueIdentifier) }
      if case .event(.download(let download)) = message { outbox.dropProgress(of: download.uniqueIdentifier) }
      guard let bytes = try? FrameCodec.encode(message) else { return }
      guard outbox.append(bytes, isAnswer: false) else { return close("it doesn't read what it is told") }
    }
    write()
  }

  /// Ends the connection; `reason` is for the log.
  func end(_ reason: String?) { close(reason) }

  /// After what was queued has gone, for one who is told why; at the latest after a second.
  func endAfterSending(_ reason: String) {
    guard !isClosed, !outbox.isEmpty else { return close(reason) }
    loop.setTimer(deadline, at: BootClock.now + .seconds(1)) { [weak self] in self?.close(reason) }
  }

  // MARK: On its own

  private func ready() {
    if isWriting { write() }
    if isReading { read() }
  }

  private func read() {
    guard !isClosed, mayTake() else { return showInterest() }
    share.take()
    let count = loop.buffer.withUnsafeMutableBytes {
      recv(socket.number, $0.baseAddress, Self.maxRead, Int32(MSG_DONTWAIT))
    }
    if count < 0 {
      if [EAGAIN, EINTR].contains(errno) { return }
      return close(errno == ECONNRESET ? nil : SystemCallError.message(errno))
    }
    if count == 0 { return close(nil) }
    assembler.append(loop.buffer[0..<count])
    decode()
  }

  private func decode() {
    guard !isDecoding else { return }
    isDecoding = true
    takeMessages()
    isDecoding = false
    showInterest()
  }

  private func takeMessages() {
    do throws(FrameCodec.Violation) {
      while !isClosed, isReading, mayTake(), let frame = try assembler.next() {
        share.take()
        let message = try FrameCodec.decode(ClientMessage.self, from: frame)
        if case .request(let id, _) = message {
          guard requests.insert(id).inserted else { return close("request \(id) is under way already") }
          share.begin()
        } else {
          answers += 1
        }
        receive(id, .message(message))
      }
    } catch {
      close(error.description)
    }
  }

  /// False: nothing more is read until there is room again.
  private func mayTake() -> Bool {
    guard isBusy || share.isFull else { return true }
    isReading = false
    if !isBusy { share.wait(self) }
    return false
  }

  private var isBusy: Bool {
    requests.count >= Self.maxRequests || answers >= Self.maxRequests || outbox.isHeldUp
  }

  func resumeReading() {
    guard !isReading, !isClosed, !isBusy else { return }
    if share.isFull { return share.wait(self) }
    isReading = true
    if isDecoding { return }
    // What had arrived before isn't announced again.
    loop.submit { self.decode() }
  }

  private func write() {
    while !isClosed, let bytes = outbox.next() {
      let count = bytes.withUnsafeBytes {
        Glibc.send(socket.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
      }
      if count >= 0 {
        outbox.sent(count)
        continue
      }
      switch errno {
      case EINTR: continue
      case EAGAIN:
        isWriting = true
        return showInterest()
      default: return close(nil)
      }
    }
    isWriting = false
    showInterest()
    resumeReading()
  }

  private func showInterest() {
    guard !isClosed, !isDecoding, let watched else { return }
    var interest: EventLoop.Interest = isReading ? .reading : []
    if isWriting { interest.insert(.writing) }
    do throws(SystemCallError) { try loop.change(watched, to: interest) } catch { close(error.description) }
  }

  private func close(_ reason: String?) {
    guard !isClosed else { return }
    isClosed = true
    loop.setTimer(deadline, at: nil)
    if let watched { loop.stop(watched) }
    shutdown(socket.number, Int32(SHUT_RDWR))
    share.end(requests.count)
    requests = []
    loop.submit { [self] in
      share.resume()
      receive(id, .closed(reason: reason))
    }
  }
}
