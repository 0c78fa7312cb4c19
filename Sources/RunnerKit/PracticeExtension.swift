internal import AssetModel
internal import CExtension
internal import Glibc
internal import HostProtocol

/// An extension of the fork server's own, taken in and asked as a real one is: what Swift makes at the first use of a
/// type, and the runner's tables, are there before the fork. It has no library and reaches no channel.
enum PracticeExtension {
  static func run() {
    let request = HostMessage.LoadRequest(
      path: "/bundle/library.so", device: 1, inode: 1, isExtension: true, bundleIdentifier: "practice",
      bundlePath: "/bundle", containers: [.init(group: "", path: "/container")])
    HostCallbacks.configure(request)
    guard let plugin = try? LoadedPlugin(practising: table()) else { return }
    exchange(.load(request), .loaded(plugin.description))
    let call = HostMessage.Call.contentRequest(
      kind: .install, manifest: "/manifest", remaining: -1, essentialRemaining: -1)
    exchange(.call(call), EntryPointCaller(plugin: plugin).call(call))
    exchange(
      .call(.function(symbol: "f", signature: "i32(i32)", arguments: [.signed(1)])), .returned(.init(value: .signed(1)))
    )
    _ = ServiceRequest.log(level: 1, subsystem: "s", category: "c", message: "m").frame(id: 0).encoded()
  }

  /// A question as it comes from the host, and the answer as it goes there.
  private static func exchange(_ question: HostMessage, _ answer: RunnerMessage?) {
    var assembler = FrameAssembler()
    assembler.append(question.frame(id: 1).encoded()[...])
    if let frame = try? assembler.next() { _ = try? HostMessage(frame) }
    _ = answer?.frame(id: 1).encoded()
  }

  private static func table() -> UnsafePointer<ba_extension> {
    let content: @convention(c) (UnsafePointer<ba_host>?, UnsafePointer<ba_content_request>?) -> ba_status = {
      PracticeExtension.answer($0, $1)
    }
    // Never freed: the server does this once.
    let entry = UnsafeMutablePointer<ba_entry_point>.allocate(capacity: 1)
    entry.initialize(
      to: ba_entry_point(
        name: strdup(BA_CONTENT_REQUEST), signature: strdup(BA_CONTENT_REQUEST_SIGNATURE),
        function: unsafeBitCast(content, to: (@convention(c) () -> Void).self)))
    let table = UnsafeMutablePointer<ba_extension>.allocate(capacity: 1)
    table.initialize(
      to: ba_extension(
        size: UInt32(MemoryLayout<ba_extension>.size), abi_version: BA_ABI_VERSION, name: strdup("practice"),
        entry_points: entry, entry_point_count: 1))
    return UnsafePointer(table)
  }

  private static func answer(_ host: UnsafePointer<ba_host>?, _: UnsafePointer<ba_content_request>?) -> ba_status {
    guard let host else { return BA_FAILED }
    var path = [CChar](repeating: 0, count: 256)
    var length = 0
    _ = host.pointee.container_path?(host, ba_string(), &path, path.count, &length)
    var memory = ForeignMemory()
    defer { memory.release() }
    let download = Download(
      identifier: "a", url: "https://localhost/a", method: "GET", applicationGroupIdentifier: "group", fileSize: 1)
    return withUnsafePointer(to: memory.download(download)) { host.pointee.answer?(host, $0) ?? BA_FAILED }
  }
}
