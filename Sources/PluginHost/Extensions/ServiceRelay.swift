internal import AssetModel
internal import HostProtocol
internal import LinuxSystem

/// Takes what one run's extension asks to the host's client, and the answers back to the loop.
///
/// @unchecked Sendable: everything mutable is touched on the loop's thread only. The tasks that call the client get values
/// and hand frames back.
final class ServiceRelay: @unchecked Sendable {
  enum Request: Sendable {
    case schedule(Download)
    case cancel(String)
    case currentDownloads
    case acquire(Duration?)
    case release
    case observe(Bool)
  }

  /// What became of a request.
  struct Answer: Sendable {
    var reply: Frame
    /// Whether the client did what it was asked.
    var isDone: Bool
    var request: Request
  }

  /// Bytes of the downloads in one list: with their count they fit a frame.
  static let longestList = 3 << 20

  private(set) var control = ControlUse()
  /// Whether anything but exclusive control is being asked.
  private(set) var isAsking = false
  private var isOver = false
  private var observation = Observation()
  private let jobs: AsyncStream<(id: UInt64, request: Request)>.Continuation
  private let services: any ExtensionServices

  private let loop: EventLoop
  private let post: (Answer) -> Void

  /// `post`: called on the loop with each answer that comes before the end.
  init(_ services: any ExtensionServices, loop: EventLoop, post: @escaping (Answer) -> Void) {
    self.services = services
    self.loop = loop
    self.post = post
    let (stream, jobs) = AsyncStream.makeStream(of: (id: UInt64, request: Request).self)
    self.jobs = jobs
    Task { await work(on: stream) }
  }

  /// Until the run has ended, and every answer is here.
  private func work(on stream: AsyncStream<(id: UInt64, request: Request)>) async {
    await withDiscardingTaskGroup { group in
      for await (id, request) in stream {
        // In its turn: what follows a release counts on it.
        switch request {
        case .release: await services.releaseExclusiveControl()
        case .observe(let isObserving):
          await services.observe(isObserving)
          loop.submit { [self] in tellObserving(observation.told()) }
        case .schedule, .cancel, .currentDownloads, .acquire:
          // Begins here and now: nothing is asked any more once the client has been told of the end.
          group.addImmediateTask { [self] in
            let answer = await perform(request, id: id)
            loop.submit { [self] in finish(answer) }
          }
        }
      }
      group.cancelAll()
      await services.runEnded()
    }
  }

  var allowsPlainHTTPToLoopback: Bool { services.allowsPlainHTTPToLoopback }

  /// False for a second question before the answer to the first, which our client never asks.
  func ask(_ request: Request, id: UInt64) -> Bool {
    guard !isAsking else { return false }
    isAsking = true
    jobs.yield((id, request))
    return true
  }

  /// False where too many requests are open.
  func acquire(timeout: Duration?, id: UInt64) -> Bool {
    guard control.request() else { return false }
    jobs.yield((id, .acquire(timeout)))
    return true
  }

  func release() { if control.release() { jobs.yield((0, .release)) } }

  /// However often it changes its mind, at most one change is under way.
  func observe(_ isObserving: Bool) { tellObserving(observation.wants(isObserving)) }

  private func tellObserving(_ news: Bool?) {
    if let news, !isOver { jobs.yield((0, .observe(news))) }
  }

  /// The run has ended: what it holds goes back, what it asked for is no longer wanted.
  func end() {
    guard !isOver else { return }
    isOver = true
    for _ in 0..<control.end() { jobs.yield((0, .release)) }
    jobs.finish()
  }

  /// On the loop.
  private func finish(_ answer: Answer) {
    if case .acquire = answer.request {
      control.answered(granted: answer.isDone)
      // Granted after the run was over: no holder is left.
      if isOver, control.end() > 0 { Task { await services.releaseExclusiveControl() } }
    } else {
      isAsking = false
    }
    if !isOver { post(answer) }
  }

  private func perform(_ request: Request, id: UInt64) async -> Answer {
    let status: Int32
    switch request {
    case .schedule(let download): status = await services.schedule(download)
    case .cancel(let identifier): status = await services.cancel(identifier)
    case .acquire(let timeout): status = await services.acquireExclusiveControl(timeout: timeout)
    case .currentDownloads:
      let list = Self.fitting(await services.currentDownloads())
      return Answer(reply: ServiceReply.downloads(list).frame(id: id), isDone: true, request: request)
    case .release, .observe: status = 0
    }
    return Answer(reply: ServiceReply.status(status).frame(id: id), isDone: status == 0, request: request)
  }

  static func fitting(_ downloads: [Download]) -> [Download] {
    var left = longestList
    return Array(
      downloads.prefix { download in
        left -= ScheduledDownloads.size(of: download)
        return left >= 0
      })
  }
}
