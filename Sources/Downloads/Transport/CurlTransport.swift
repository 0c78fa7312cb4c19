internal import AssetModel
internal import CCurl
internal import LinuxSystem
internal import Synchronization

/// libcurl's multi interface (libcurl-multi(3)): every transfer of the engine on one thread.
final class CurlTransport: Transport {
  weak var client: (any TransportClient)?

  private var options: TransportOptions
  private let multi: CurlMulti
  private var transfers: [TransferID: CurlTransfer] = [:]
  private var byHandle: [UnsafeMutableRawPointer: CurlTransfer] = [:]
  private let resolve: CurlList
  private let kept = KeptSockets()
  /// Handles of requests that ended: making one costs as much as asking for a small file.
  private var idle: [CurlHandle] = []
  private static let maxIdle = 16

  /// Older ones lack the protocol lists by name and the pre-request callback.
  static let oldestVersion: UInt32 = 0x07_55_00

  init(_ options: TransportOptions) throws(TransportUnavailable) {
    // Called before any other thread uses libcurl, as curl_global_init(3) asks.
    _ = Self.initialized
    guard let version = oc_version() else { throw TransportUnavailable("libcurl tells no version") }
    guard version.pointee.version_num >= Self.oldestVersion else {
      throw TransportUnavailable(
        "libcurl \(String(cString: version.pointee.version)) is too old; 7.85 or later is needed")
    }
    guard let multi = CurlMulti() else { throw TransportUnavailable("curl_multi_init failed") }
    self.options = options
    self.multi = multi
    resolve = CurlList(CurlNames.entries(options.resolve))
  }

  private static let initialized = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

  deinit {
    for transfer in transfers.values { curl_multi_remove_handle(multi.handle, transfer.easy) }
  }

  var waker: any Waker { multi }

  func start(_ request: TransportRequest, as id: TransferID) {
    guard let handle = (request.isOrdinary ? idle.popLast() : nil) ?? CurlHandle() else {
      client?.transfer(id, ended: TransportEnd(problem: .other, message: "curl_easy_init failed"))
      return
    }
    let url: CurlURL
    do throws(ParsedURL.Failure) { url = try CurlURL.of(request.url) } catch {
      client?.transfer(id, ended: TransportEnd(problem: .other, message: "\(error)"))
      return
    }
    let transfer = CurlTransfer(
      id: id, on: handle, request: request, of: url, options: options, resolve: resolve, kept: kept,
      client: { [unowned self] in client })
    transfers[id] = transfer
    byHandle[transfer.easy] = transfer
    curl_multi_add_handle(multi.handle, transfer.easy)
  }

  func resume(_ id: TransferID) {
    guard let transfer = transfers[id] else { return }
    curl_easy_pause(transfer.easy, CURLPAUSE_CONT)
  }

  func cancel(_ id: TransferID) -> Int64 {
    guard let transfer = transfers.removeValue(forKey: id) else { return 0 }
    byHandle[transfer.easy] = nil
    transfer.isCancelled = true
    keepConnection(of: transfer)
    curl_multi_remove_handle(multi.handle, transfer.easy)
    return transfer.receivedBytes
  }

  func receiveSample(of id: TransferID) -> ReceiveWindow.Sample? {
    transfers[id]?.ownSocket.flatMap { ReceiveSocket.sample($0) }
  }

  func limitWindow(of id: TransferID, to bytes: Int) { transfers[id]?.limitWindow(to: bytes) }

  func poll(atMost limit: () -> Duration) {
    var running: Int32 = 0
    curl_multi_perform(multi.handle, &running)
    if !reap() {
      // What came just now may have changed how long there is time.
      let limit = limit()
      let milliseconds = Int32(min(max(0, (limit.inNanoseconds + 999_999) / 1_000_000), 60_000))
      curl_multi_poll(multi.handle, nil, 0, milliseconds, nil)
      curl_multi_perform(multi.handle, &running)
      _ = reap()
    }
  }

  /// Whether a transfer ended: then its owner may have work that comes before waiting.
  private func reap() -> Bool {
    var result = CURLE_OK
    var any = false
    while let easy = oc_multi_finished(multi.handle, &result) {
      guard let transfer = byHandle.removeValue(forKey: easy) else { continue }
      any = true
      transfers[transfer.id] = nil
      let end = transfer.end(result)
      keepConnection(of: transfer)
      curl_multi_remove_handle(multi.handle, easy)
      if transfer.handle.isConfigured, idle.count < Self.maxIdle { idle.append(transfer.handle) }
      client?.transfer(transfer.id, ended: end)
    }
    return any
  }

  /// Where its message is over, libcurl has a connection for the next one.
  private func keepConnection(of transfer: CurlTransfer) {
    guard let socket = transfer.keptConnection else { return }
    if let ends = transfer.use.ends { kept.keep(socket, between: ends) }
    // The next transfer may be in a hurry.
    if transfer.use.hasLimitedWindow { ReceiveSocket.limit(socket, to: ReceiveWindow.maxBytes) }
  }

  func follow(_ options: TransportOptions) {
    self.options = options
    // The old ones are set on every handle that served before.
    idle = []
    for transfer in transfers.values { transfer.handle.isConfigured = false }
  }

  func forgetConnections() {
    if transfers.isEmpty { return multi.forget() }
    // Transfers under way keep the handle; their connections aren't used again.
    for transfer in transfers.values {
      transfer.handle.isConfigured = false
      oc_set_long(transfer.easy, CURLOPT_FORBID_REUSE, 1)
    }
  }
}

/// The engine can't transfer anything with the libcurl that is here.
public struct TransportUnavailable: Error, Sendable, CustomStringConvertible {
  public let description: String

  init(_ description: String) { self.description = description }
}

/// Owner of a multi handle. libcurl allows `curl_multi_wakeup` from any thread; everything else is the network thread's.
///
/// @unchecked Sendable: the handle is exchanged and woken under the lock; the network thread alone exchanges it, and needs
/// none to read it.
final class CurlMulti: Waker, @unchecked Sendable {
  private(set) var handle: UnsafeMutableRawPointer
  private let lock = Mutex(())

  init?() {
    guard let handle = Self.make() else { return nil }
    self.handle = handle
  }

  deinit { curl_multi_cleanup(handle) }

  private static func make() -> UnsafeMutableRawPointer? {
    guard let handle = curl_multi_init() else { return nil }
    // The scheduler never hands over more; these are backstops.
    oc_multi_set_long(handle, CURLMOPT_MAX_HOST_CONNECTIONS, 64)
    oc_multi_set_long(handle, CURLMOPT_MAX_TOTAL_CONNECTIONS, 128)
    oc_multi_set_long(handle, CURLMOPT_MAXCONNECTS, 32)
    return handle
  }

  func wake() { lock.withLock { _ in _ = curl_multi_wakeup(handle) } }

  /// Begins anew, without a connection or an address of before; no transfer may be under way.
  func forget() {
    guard let fresh = Self.make() else { return }
    let old = lock.withLock { _ in
      defer { handle = fresh }
      return handle
    }
    curl_multi_cleanup(old)
    // A wake-up of the old one was meant for this one.
    wake()
  }
}

/// Owner of an easy handle, and of the memory that libcurl explains its failures in.
final class CurlHandle {
  let easy: UnsafeMutableRawPointer
  let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
  /// It has the options that all ordinary requests share, and no others.
  var isConfigured = false

  init?() {
    guard let easy = curl_easy_init() else { return nil }
    self.easy = easy
    errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
  }

  deinit {
    curl_easy_cleanup(easy)
    errorText.deallocate()
  }
}

/// Owner of a `curl_slist`.
final class CurlList {
  private(set) var head: UnsafeMutablePointer<curl_slist>?

  init(_ entries: [String] = []) {
    for entry in entries { head = curl_slist_append(head, entry) ?? head }
  }

  deinit { curl_slist_free_all(head) }
}
