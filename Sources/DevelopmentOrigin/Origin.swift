internal import Glibc
internal import LinuxSystem
internal import Synchronization

/// An HTTP server on loopback that misbehaves as it is told. It serves from its creation until `stop()` or its end.
///
///     let origin = try Origin { $0.resources["/a"] = Resource(.pseudoRandom(seed: 1, count: 1 << 20)) }
///     defer { origin.stop() }
///     // … download origin.url("/a") …
///     let requests = await origin.requests(count: 1, within: .seconds(5))
public final class Origin: Sendable {
  public let configuration: OriginConfiguration
  public let port: UInt16
  private let responder: Responder
  private let recorder: Recorder
  private let stopSignal: StopSignal
  private let threads: Threads
  private let tls: TLSServer?
  private let acceptor = Threads(max: 1)

  public convenience init(_ configure: (inout OriginConfiguration) -> Void) throws(OriginError) {
    var configuration = OriginConfiguration()
    configure(&configuration)
    try self.init(configuration)
  }

  public init(_ configuration: OriginConfiguration) throws(OriginError) {
    self.configuration = configuration
    var tree: DirectoryTree?
    if let directory = configuration.directory {
      do throws(SystemCallError) { tree = try DirectoryTree(directory) } catch { throw .directory(error) }
    }
    if let options = configuration.tls {
      tls = try TLSServer(options, address: configuration.address)
    } else {
      tls = nil
    }
    let listener = try Listener(configuration.address, configuration.port)
    port = listener.port
    responder = Responder(configuration, tree: tree)
    recorder = Recorder(limit: configuration.maxRecords)
    threads = Threads(max: max(configuration.maxConnections, 1))
    do throws(SystemCallError) {
      stopSignal = try StopSignal()
      try run(listener)
    } catch {
      throw .system(error)
    }
  }

  deinit { stop() }

  /// The base URL, without a slash at its end.
  public var url: String {
    let host = configuration.address.contains(":") ? "[\(configuration.address)]" : configuration.address
    return "\(tls == nil ? "http" : "https")://\(host):\(port)"
  }

  public func url(_ path: String) -> String { url + path }

  /// Replaces what a path holds, from the next request on; nil removes it.
  public func set(_ path: String, _ resource: Resource?) { responder.set(path, resource) }

  /// Gives a resource one more version, which is served from now on.
  public func publish(_ path: String, _ content: Content) {
    var resource = responder.resource(path) ?? Resource(versions: [])
    resource.versions.append(content)
    if resource.versions.count > 1 { resource.lastModified = resource.lastModified.map { $0 + 1 } }
    responder.set(path, resource)
  }

  /// Every request that was understood, in order.
  public var requests: [RecordedRequest] { recorder.all }

  public func requests(for path: String) -> [RecordedRequest] { recorder.all.filter { $0.path == path } }

  /// All requests as soon as there are `count`, or those that came within the time.
  public func requests(count: Int, within limit: Duration) async -> [RecordedRequest] {
    _ = await recorder.wait(count: count, within: limit)
    return recorder.all
  }

  /// Forgets the requests; counting starts anew.
  public func reset() { recorder.reset() }

  /// Ends all connections and returns when their threads have let go of everything. Again and from any thread.
  public func stop() {
    stopSignal.raise()
    acceptor.join()
    threads.join()
    recorder.stop()
  }

  private func run(_ listener: consuming Listener) throws(SystemCallError) {
    let (configuration, responder, recorder, tls) = (configuration, responder, recorder, tls)
    let (stop, threads) = (stopSignal, threads)
    var owned: Listener? = consume listener
    let shared = Mutex<Listener?>(owned.take())
    try acceptor.start {
      guard let listener = shared.withLock({ $0.take() }) else { return }
      var count = 0
      while stop.wait(listener.socket.number, POLLIN, for: nil) == .ready {
        guard let socket = listener.accept() else {
          // Out of descriptors, most likely: they come back.
          _ = stop.wait(-1, 0, for: .milliseconds(1))
          continue
        }
        count += 1
        let connection = Connection(
          number: count, configuration: configuration, responder: responder, recorder: recorder, tls: tls)
        let raw = socket.release()
        do throws(SystemCallError) {
          try threads.start {
            connection.serve(Stream(OwnedDescriptor(taking: raw), stop: stop, writeLimit: configuration.writeLimit))
          }
        } catch {
          _ = OwnedDescriptor(taking: raw)
        }
      }
    }
  }
}
