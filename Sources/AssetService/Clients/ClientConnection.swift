internal import Dispatch
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
/// @unchecked Sendable: everything that changes is touched on `queue` only.
final class ClientConnection: @unchecked Sendable {
  enum Arrival: Sendable {
    case message(ClientMessage)
    /// The last word of a connection; nil: the client closed it.
    case closed(reason: String?)
  }

  /// Requests without an answer, and answers that the service hasn't looked at; then nothing is read until one has gone.
  static let maxRequests = 64
  /// Seconds in which a client has to say who it is.
  static let greetingSeconds = 10

  let id: ConnectionID
  let process: Int32
  /// What the process executed when it connected; nil where that can't be seen.
  let executable: (path: String, identity: FileIdentity)?
  private let socket: Int32
  private let queue: DispatchQueue
  private let receive: @Sendable (ConnectionID, Arrival) -> Void
  private let reader: any DispatchSourceRead
  private var writer: (any DispatchSourceWrite)?
  private var assembler = FrameAssembler()
  private var outbox = Outbox()
  private var requests: Set<UInt64> = []
  private let share: ProcessShare
  private var answers = 0
  private var isReading = true
  private var isWriting = false
  private var isClosed = false
  private var hasGreeted = false
  private var buffer = [UInt8](repeating: 0, count: 65536)

  init(
    _ id: ConnectionID, taking socket: Int32, of peer: borrowing Peer, sharing share: ProcessShare,
    on queue: DispatchQueue,
    receive: @escaping @Sendable (ConnectionID, Arrival) -> Void
  ) {
    self.id = id
    self.socket = socket
    self.share = share
    process = peer.process
    executable = peer.executable()
    self.queue = queue
    self.receive = receive
    reader = DispatchSource.makeReadSource(fileDescriptor: socket, queue: queue)
  }

  /// On `queue`.
  func start() {
    reader.setEventHandler { [weak self] in self?.read() }
    reader.setCancelHandler { [self] in
      // Both sources are done with the descriptor before it goes.
      guard let writer else { return finish() }
      writer.setCancelHandler { [self] in finish() }
      if !isWriting { writer.resume() }
      writer.cancel()
    }
    reader.resume()
    queue.asyncAfter(deadline: .now() + .seconds(Self.greetingSeconds)) { [weak self] in
      guard let self, !hasGreeted else { return }
      close("it didn't say who it is within \(Self.greetingSeconds) s")
    }
  }

  private func finish() { Glibc.close(socket) }

  /// The connection is known: it may stay.
  func greeted() { queue.async { self.hasGreeted = true } }

  func answer(_ id: UInt64, _ result: Result<Reply, ServiceFailure>) {
    queue.async { [self] in
      guard !isClosed, requests.remove(id) != nil else { return }
      share.end(1)
      let frames =
        switch result {
        case .success(let reply): ReplyFrames.frames(id, reply)
        case .failure(let failure): [(try? FrameCodec.encode(ServiceMessage.failure(id: id, failure: failure))) ?? []]
        }
      for frame in frames where !outbox.append(frame, isAnswer: true) { return close("it doesn't read its answers") }
      write()
      resumeReading()
      share.resume()
    }
  }

  /// The service has looked at an answer of the client.
  func tookAnswer() {
    queue.async { [self] in
      answers -= 1
      resumeReading()
    }
  }

  func send(_ message: ServiceMessage) {
    queue.async { [self] in
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
  }

  /// Ends the connection; `reason` is for the log.
  func end(_ reason: String?) { queue.async { self.close(reason) } }

  /// After what was queued has gone, for one who is told why; at the latest after a second.
  func endAfterSending(_ reason: String) {
    queue.async { [self] in
      guard !isClosed, !outbox.isEmpty else { return close(reason) }
      queue.asyncAfter(deadline: .now() + .seconds(1)) { self.close(reason) }
    }
  }

  // MARK: On the queue

  private func read() {
    guard !isClosed else { return }
    let count = buffer.withUnsafeMutableBytes { recv(socket, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT)) }
    if count < 0 {
      if [EAGAIN, EINTR].contains(errno) { return }
      return close(errno == ECONNRESET ? nil : SystemCallError.message(errno))
    }
    if count == 0 { return close(nil) }
    assembler.append(buffer[0..<count])
    decode()
  }

  private func decode() {
    do throws(FrameCodec.Violation) {
      while !isClosed, isReading, let frame = try assembler.next() {
        let message = try FrameCodec.decode(ClientMessage.self, from: frame)
        if case .request(let id, _) = message {
          guard requests.insert(id).inserted else { return close("request \(id) is under way already") }
          share.begin()
        } else {
          answers += 1
        }
        if isBusy || share.isFull {
          isReading = false
          reader.suspend()
          if !isBusy { share.wait(self) }
        }
        receive(id, .message(message))
      }
    } catch {
      close(error.description)
    }
  }

  private var isBusy: Bool {
    requests.count >= Self.maxRequests || answers >= Self.maxRequests || outbox.isHeldUp
  }

  func resumeReading() {
    guard !isReading, !isClosed, !isBusy else { return }
    if share.isFull { return share.wait(self) }
    isReading = true
    reader.resume()
    // What had arrived before isn't announced again.
    decode()
  }

  private func write() {
    while !isClosed, let bytes = outbox.next() {
      let count = bytes.withUnsafeBytes {
        Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
      }
      if count >= 0 {
        outbox.sent(count)
        continue
      }
      switch errno {
      case EINTR: continue
      case EAGAIN: return waitForRoom()
      default: return close(nil)
      }
    }
    if isWriting {
      isWriting = false
      writer?.suspend()
    }
    resumeReading()
  }

  private func waitForRoom() {
    guard !isWriting else { return }
    isWriting = true
    if writer == nil {
      writer = DispatchSource.makeWriteSource(fileDescriptor: socket, queue: queue)
      writer?.setEventHandler { [weak self] in self?.write() }
    }
    writer?.resume()
  }

  private func close(_ reason: String?) {
    guard !isClosed else { return }
    isClosed = true
    shutdown(socket, Int32(SHUT_RDWR))
    if !isReading { reader.resume() }
    reader.cancel()
    share.end(requests.count)
    requests = []
    share.resume()
    receive(id, .closed(reason: reason))
  }
}
