internal import AssetModel
internal import CExtension
internal import Glibc
internal import HostProtocol
internal import LinuxSystem
internal import Synchronization

/// The `ba_host` that extensions get: its functions become requests on the service channel. Any thread may call them.
enum HostCallbacks {
  /// Downloads that one content request may answer: they are kept in the extension's own memory.
  private static let maxDownloads = 10_000
  /// Bytes of names that are kept of downloads that found no room in the answer, and of one of them.
  private static let longestRefused = 64 << 10
  private static let longestRefusedName = 128
  /// Bytes of the answer's downloads: with those names and what is around them they fit a frame.
  private static let longestAnswer = Frame.longestPayload - longestRefused - 1024
  /// How deep callbacks may call each other through visitors.
  private static let deepest = 16

  private struct Answer {
    var isOpen = false
    var downloads: [Download] = []
    var bytes = 0
    var refused: [String] = []
    var refusedBytes = 0
    /// Those of which there is no room for the name either.
    var unnamed = 0
    var containers: [HostMessage.LoadRequest.Container] = []
    var depth = 0
  }

  private static let answer = Mutex(Answer())
  /// Written once, before the first entry point is called, and never freed.
  nonisolated(unsafe) private(set) static var host: UnsafeMutablePointer<ba_host>?

  static func configure(_ request: HostMessage.LoadRequest) {
    answer.withLock { $0.containers = request.containers }
    // Made before the fork where a server practises.
    _ = ServiceLine.shared
    var memory = ForeignMemory()
    let table = UnsafeMutablePointer<ba_host>.allocate(capacity: 1)
    table.initialize(
      to: ba_host(
        size: UInt32(MemoryLayout<ba_host>.size), abi_version: BA_ABI_VERSION, context: nil,
        bundle_identifier: memory.string(request.bundleIdentifier), bundle_path: memory.string(request.bundlePath),
        log: { _, level, subsystem, category, message in HostCallbacks.log(level, subsystem, category, message) },
        answer: { _, download in HostCallbacks.add(download) },
        schedule: { _, download in HostCallbacks.schedule(download) },
        cancel: { _, identifier in HostCallbacks.cancel(identifier) },
        current_downloads: { _, visit, context in HostCallbacks.visitCurrent(visit, context) },
        acquire_exclusive_control: { _, timeout in HostCallbacks.acquire(timeout) },
        release_exclusive_control: { _ in HostCallbacks.tell(.releaseExclusiveControl) },
        begin_activity: { _ in HostCallbacks.tell(.beginActivity) },
        end_activity: { _ in HostCallbacks.tell(.endActivity) },
        container_path: { _, group, buffer, capacity, length in
          HostCallbacks.containerPath(group, buffer, capacity, length)
        },
        observe: { _, isObserving in HostCallbacks.tell(.observe(isObserving != 0)) }))
    host = table
  }

  /// An entry point is called. Visitors that an earlier one jumped out of never returned.
  static func beginCall() { answer.withLock { $0.depth = 0 } }

  static func beginAnswer() {
    answer.withLock {
      $0.isOpen = true
      $0.downloads = []
      $0.bytes = 0
      $0.refused = []
      $0.refusedBytes = 0
      $0.unnamed = 0
    }
  }

  static func endAnswer() -> (downloads: [Download], refused: [String]) {
    let unnamed = answer.withLock { answer in
      answer.isOpen = false
      return answer.unnamed
    }
    if unnamed > 0 {
      // 3: an error.
      tell(
        .log(
          level: 3, subsystem: "outrider", category: "answer",
          message: "the answer has no room for \(unnamed) further downloads, nor for their names"))
    }
    return answer.withLock { answer in
      (exchange(&answer.downloads, with: []), exchange(&answer.refused, with: []))
    }
  }

  private static func tell(_ request: ServiceRequest) { ServiceLine.shared.tell(request) }

  private static func ask(_ request: ServiceRequest) -> ServiceReply? { ServiceLine.shared.ask(request) }

  private static func status(_ request: ServiceRequest) -> ba_status {
    if case .status(let status) = ask(request) { status } else { BA_CALLER_CONNECTION_INVALID }
  }

  private static func log(_ level: Int32, _ subsystem: ba_string, _ category: ba_string, _ message: ba_string) {
    tell(
      .log(
        level: UInt8(clamping: min(max(level, 0), 4)), subsystem: text(subsystem, limit: 256),
        category: text(category, limit: 256), message: logText(message)))
  }

  /// A message as long as a frame should be; what is cut off is said.
  private static func logText(_ message: ba_string) -> String {
    let longest = 16 << 10
    let cut = message.length - longest
    return text(message, limit: longest) + (cut > 0 ? "… and \(cut) bytes more" : "")
  }

  private static func add(_ raw: UnsafePointer<ba_download>?) -> ba_status {
    guard let download = download(raw) else { return BA_FAILED }
    var writer = ByteWriter()
    writer.download(download)
    let size = writer.bytes.count
    return answer.withLock {
      guard $0.isOpen else { return BA_FAILED }
      guard $0.downloads.count < maxDownloads, $0.bytes + size <= longestAnswer else {
        let name = String(decoding: download.identifier.utf8.prefix(longestRefusedName), as: UTF8.self)
        // A name that was cut within a character has become longer.
        let cost = name.utf8.count + 4
        if $0.refusedBytes + cost <= longestRefused {
          $0.refused.append(name)
          $0.refusedBytes += cost
        } else {
          $0.unnamed += 1
        }
        return BA_FAILED
      }
      $0.bytes += size
      $0.downloads.append(download)
      return BA_OK
    }
  }

  private static func schedule(_ raw: UnsafePointer<ba_download>?) -> ba_status {
    guard let download = download(raw) else { return BA_FAILED }
    return status(.schedule(download))
  }

  private static func cancel(_ identifier: ba_string) -> ba_status { status(.cancel(identifier: text(identifier))) }

  private static func visitCurrent(_ visit: ba_download_visitor?, _ context: UnsafeMutableRawPointer?) -> ba_status {
    guard let visit else { return BA_FAILED }
    let depth = answer.withLock {
      $0.depth += 1
      return $0.depth
    }
    defer { answer.withLock { $0.depth = max($0.depth - 1, 0) } }
    guard depth <= deepest else { return BA_FAILED }
    guard case .downloads(let downloads) = ask(.currentDownloads) else { return BA_CALLER_CONNECTION_INVALID }
    for download in downloads {
      var memory = ForeignMemory()
      defer { memory.release() }
      withUnsafePointer(to: memory.download(download)) { visit(context, $0) }
    }
    return BA_OK
  }

  private static func acquire(_ timeout: Int64) -> ba_status {
    status(.acquireExclusiveControl(timeout: timeout < 0 ? nil : timeout))
  }

  private static func containerPath(
    _ group: ba_string, _ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int, _ length: UnsafeMutablePointer<Int>?
  ) -> ba_status {
    let name = text(group)
    let path = answer.withLock { state in
      state.containers.first { $0.group == name || $0.group.isEmpty }?.path
    }
    guard let path else { return BA_CALLER_CONNECTION_NOT_ACCEPTED }
    let bytes = path.utf8CString
    guard let buffer, capacity >= bytes.count else {
      length?.pointee = bytes.count
      return BA_FAILED
    }
    length?.pointee = bytes.count - 1
    bytes.withUnsafeBufferPointer { source in
      if let base = source.baseAddress { buffer.update(from: base, count: source.count) }
    }
    return BA_OK
  }

  private static func text(_ string: ba_string, limit: Int = 1 << 20) -> String {
    // A length beyond Int.max arrives as a negative number.
    guard let bytes = string.bytes, string.length >= 0 else { return "" }
    return String(decoding: PluginMemory.bytes(bytes, min(string.length, limit), of: .argument), as: UTF8.self)
  }

  /// Bytes as they are; one more than there may be of a longer one, so that it is rejected.
  private static func body(_ string: ba_string) -> [UInt8] {
    guard let bytes = string.bytes, string.length > 0 else { return [] }
    return PluginMemory.bytes(bytes, min(string.length, DownloadRules.longestBody + 1), of: .argument)
  }

  private static func download(_ raw: UnsafePointer<ba_download>?) -> Download? {
    guard let raw else { return nil }
    // Its first member. A smaller structure may end where nothing more can be read.
    let size = UnsafeRawPointer(raw).assumingMemoryBound(to: UInt32.self)
    guard Int(PluginMemory.value(size, of: .argument)) >= MemoryLayout<ba_download>.size else { return nil }
    let value = PluginMemory.value(raw, of: .argument)
    var headers: [Download.Header] = []
    if let list = value.http_headers {
      // One more than there may be: that many are rejected, and not cut down to what is allowed.
      let count = max(0, min(value.http_header_count, DownloadRules.maxHeaders + 1))
      for header in PluginMemory.values(list, count, of: .argument) {
        headers.append(.init(name: text(header.name), value: text(header.value)))
      }
    }
    return Download(
      identifier: text(value.identifier), uniqueIdentifier: text(value.unique_identifier), url: text(value.url),
      method: text(value.http_method), body: body(value.http_body), headers: headers,
      applicationGroupIdentifier: text(value.application_group_identifier),
      fileSize: value.flags & BA_DOWNLOAD_SIZE_UNKNOWN != 0 ? nil : value.file_size,
      isEssential: value.flags & BA_DOWNLOAD_ESSENTIAL != 0, priority: value.priority,
      isManifest: false, state: value.state)
  }
}
