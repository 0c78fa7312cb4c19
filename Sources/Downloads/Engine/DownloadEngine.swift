public import AssetModel
internal import Glibc
public import LinuxSystem

/// Downloads files in the background: resumes by range, never splices two versions, keeps what is durable through
/// `kill -9` and power cuts, and says of every download that waits why it does.
///
/// Any thread may call it. All decisions are made on one network thread of its own; `close` ends that.
public final class DownloadEngine: Sendable {
  let mailbox: Mailbox
  private let hub: EventHub
  private let journal: any DownloadJournal
  private let clock: any TransferClock

  /// Starts the network thread, and goes on with every open job of the journal.
  ///
  /// - Throws: `TransportUnavailable` when this libcurl is too old, `SystemCallError` when there is no thread.
  /// - Parameters:
  ///   - journal: Keeps what has to survive. Nothing else may use it while the engine lives.
  ///   - options: Limits and what the transport is told.
  ///   - clock: Time, for tests.
  ///   - files: The file system, for tests.
  public convenience init(
    journal: any DownloadJournal, options: EngineOptions, clock: any TransferClock = SystemClock(),
    files: any FileOperations = SystemFiles()
  ) throws {
    try self.init(
      journal: journal, options: options, clock: clock, files: files, transport: CurlTransport(options.transport))
  }

  init(
    journal: any DownloadJournal, options: EngineOptions, clock: any TransferClock, files: any FileOperations,
    transport: any Transport
  ) throws {
    let hub = EventHub()
    let mailbox = Mailbox(transport.waker)
    self.hub = hub
    self.mailbox = mailbox
    self.journal = journal
    self.clock = clock
    let engine = TransferEngine(
      options: options, clock: clock, files: files, journal: journal, transport: transport, mailbox: mailbox,
      events: hub)
    try engine.restore()
    try EngineThread(engine).start()
  }

  /// Everything that happens from now on; for the first listener also what happened since the start, the newest 1024 events.
  /// Several may listen; each ends when the engine is closed. None loses an event: what a listener doesn't read is kept for it,
  /// without a limit, so one that stops reading has to let its stream go.
  public var events: AsyncStream<DownloadEvent> { hub.stream() }

  /// Adds downloads, all in one transaction; they are durable when this returns. Results are in the order of the requests.
  ///
  /// - Parameter specifications: What is asked for.
  /// - Returns: One result for each specification, in their order.
  /// - Throws: What the journal throws; nothing was added then.
  public func add(_ specifications: [DownloadSpecification]) async throws -> [AddResult] {
    try await mailbox.ask { .add(specifications, $0) }
  }

  /// Stops a download and keeps every byte. Nothing happens to one that is settled.
  ///
  /// - Parameter id: Of the download.
  public func pause(_ id: JobID) { mailbox.post(.request(.perform(.pause, on: id))) }

  /// Goes on after `pause`; also ends a wait before another try, but not one that a server asked for.
  ///
  /// - Parameter id: Of the download.
  public func resume(_ id: JobID) { mailbox.post(.request(.perform(.resume, on: id))) }

  /// Ends a download and removes what is there of it.
  ///
  /// - Parameter id: Of the download.
  public func cancel(_ id: JobID) { mailbox.post(.request(.perform(.cancel, on: id))) }

  /// Makes a download more or less urgent; bytes that are there stay.
  ///
  /// - Parameters:
  ///   - transferClass: How urgent it is from now on.
  ///   - id: Of the download.
  public func setClass(_ transferClass: TransferClass, of id: JobID) {
    mailbox.post(.request(.perform(.setClass(transferClass), on: id)))
  }

  /// Tells what the machine is like now; every gate is checked anew.
  ///
  /// - Parameter conditions: All of them, also those that haven't changed.
  public func setConditions(_ conditions: MachineConditions) { mailbox.post(.request(.conditions(conditions))) }

  /// The network changed or the machine slept: old connections and addresses aren't used again, and waits end once.
  public func networkChanged() { mailbox.post(.request(.networkChanged)) }

  /// The proxy's configuration changed, as `TransportOptions.proxy` and `noProxy` have it. What is under way goes on through
  /// the new one, from where it is.
  ///
  /// - Parameters:
  ///   - proxy: A URL; nil: none.
  ///   - noProxy: Hosts that are asked directly, separated by commas.
  public func setProxy(_ proxy: String?, except noProxy: String = "") {
    mailbox.post(.request(.proxy(proxy, except: noProxy)))
  }

  /// Other rate caps count from now on, for example because of the time of day: bytes per second in all and per class, as
  /// `EngineOptions` has them; nil: no limit.
  ///
  /// - Parameters:
  ///   - bytesPerSecond: For all downloads together.
  ///   - classes: For those of one class together.
  public func setRates(_ bytesPerSecond: Int64?, classes: [TransferClass: Int64] = [:]) {
    mailbox.post(.request(.rates(bytesPerSecond, classes: classes)))
  }

  /// An allowance was raised: downloads that wait for it are looked at again.
  ///
  /// - Parameter budget: Its name; nil: any may have changed.
  public func allowancesChanged(of budget: String? = nil) { mailbox.post(.request(.allowancesChanged(of: budget))) }

  /// Why a download isn't moving; nil when there is no such download.
  ///
  /// - Parameter id: Of the download.
  /// - Returns: The reason that holds it, and what ends that.
  public func explain(_ id: JobID) async -> Explanation? {
    try? await mailbox.ask { .explain(id, $0) }
  }

  /// How far a running download is; nil when it isn't running.
  ///
  /// - Parameter id: Of the download.
  /// - Returns: Bytes and speed at this moment.
  public func progress(of id: JobID) async -> DownloadProgress? {
    try? await mailbox.ask { .progress(of: id, $0) }
  }

  /// Pauses everything at a checkpoint and ends the network thread. Open jobs stay open in the journal. May be called again.
  public func close() async {
    // One that is closed already refuses, and that is as good.
    try? await mailbox.ask { .close($0) }
    hub.finish()
  }
}

/// The engine was closed before.
public struct EngineClosed: Error, Sendable, CustomStringConvertible {
  public var description: String { "the engine is closed" }
}

/// The network thread.
///
/// @unchecked Sendable: the engine is handed over once, to the thread that alone uses it until `run` returns.
final class EngineThread: @unchecked Sendable {
  let engine: TransferEngine

  init(_ engine: TransferEngine) { self.engine = engine }

  func start() throws(SystemCallError) {
    try Threads.detach("outrider.net") { [self] in run() }
  }

  /// Until the engine is closed.
  func run() {
    engine.run()
    for message in engine.mailbox.close() { engine.router.handle(message) }
    engine.closed()
  }
}
