import CExtension
import Foundation
import Synchronization

/// A host in C's terms that records what an extension asks of it.
final class FakeHost: Sendable {
  struct Download: Equatable, Sendable {
    var identifier: String
    var url: String
    var flags: UInt32 = 0
    var fileSize: Int64 = 0
    var priority: Int64 = 0
    var headers: [String: String] = [:]
    var group = ""
  }

  struct State {
    var answered: [Download] = []
    var scheduled: [Download] = []
    var cancelled: [String] = []
    var events: [String] = []
    var log: [String] = []
    var levels: [Int32] = []
    var current: [String] = []
    var status = BA_OK
    var acquireStatus = BA_OK
    var timeouts: [Int64] = []
    var containers: [String: String] = [:]
  }

  /// A host outlives its process's last thread, as the ABI promises: what a queue of the module still has to say to one
  /// must not meet freed memory.
  private static let all = Mutex<[FakeHost]>([])

  let state = Mutex(State())
  nonisolated(unsafe) let table: UnsafeMutablePointer<ba_host>

  init(containers: [String: String] = [:]) {
    table = .allocate(capacity: 1)
    state.withLock { $0.containers = containers }
    table.initialize(
      to: ba_host(
        size: UInt32(MemoryLayout<ba_host>.size), abi_version: BA_ABI_VERSION, context: nil,
        bundle_identifier: literal("com.example.downloader"), bundle_path: literal("/nowhere"),
        log: { host, level, subsystem, category, message in
          FakeHost.of(host).state.withLock {
            $0.log.append("\(subsystem.text):\(category.text) \(message.text)")
            $0.levels.append(level)
          }
        },
        answer: { host, download in FakeHost.of(host).record(download, at: \.answered) },
        schedule: { host, download in FakeHost.of(host).record(download, at: \.scheduled) },
        cancel: { host, identifier in
          FakeHost.of(host).state.withLock {
            $0.cancelled.append(identifier.text)
            return $0.status
          }
        },
        current_downloads: { host, visit, context in
          for identifier in FakeHost.of(host).state.withLock({ $0.current }) {
            withCDownload(identifier, flags: BA_DOWNLOAD_ESSENTIAL) { visit?(context, $0) }
          }
          return FakeHost.of(host).state.withLock { $0.status }
        },
        acquire_exclusive_control: { host, timeout in
          FakeHost.of(host).state.withLock {
            $0.events.append("acquire")
            $0.timeouts.append(timeout)
            return $0.acquireStatus
          }
        },
        release_exclusive_control: { FakeHost.of($0).event("release") },
        begin_activity: { FakeHost.of($0).event("begin") },
        end_activity: { FakeHost.of($0).event("end") },
        container_path: { host, group, buffer, capacity, length in
          guard let path = FakeHost.of(host).state.withLock({ $0.containers[group.text] }) else {
            return BA_CALLER_CONNECTION_NOT_ACCEPTED
          }
          let fits = path.utf8.count < capacity
          length?.pointee = path.utf8.count + (fits ? 0 : 1)
          guard fits else { return BA_FAILED }
          if let buffer { strcpy(buffer, path) }
          return BA_OK
        },
        observe: { FakeHost.of($0).event("observe \($1)") }))
    table.pointee.context = Unmanaged.passUnretained(self).toOpaque()
    Self.all.withLock { $0.append(self) }
  }

  func event(_ name: String) { state.withLock { $0.events.append(name) } }

  private func record(_ download: UnsafePointer<ba_download>?, at list: WritableKeyPath<State, [Download]> & Sendable)
    -> ba_status
  {
    let copy = download.map { Download(copying: $0.pointee) }
    return state.withLock {
      if let copy, $0.status == BA_OK { $0[keyPath: list].append(copy) }
      return $0.status
    }
  }

  private static func of(_ table: UnsafePointer<ba_host>?) -> FakeHost {
    Unmanaged<FakeHost>.fromOpaque(table!.pointee.context).takeUnretainedValue()
  }
}

extension FakeHost.Download {
  init(copying download: ba_download) {
    self.init(
      identifier: download.identifier.text, url: download.url.text, flags: download.flags, fileSize: download.file_size,
      priority: download.priority, group: download.application_group_identifier.text)
    for header in UnsafeBufferPointer(start: download.http_headers, count: download.http_header_count) {
      headers[header.name.text] = header.value.text
    }
  }
}

extension ba_string {
  var text: String {
    guard let bytes else { return "" }
    return String(decoding: UnsafeRawBufferPointer(start: bytes, count: length), as: UTF8.self)
  }
}

/// Lends a download as a host does.
func withCDownload<Result>(
  _ identifier: String, flags: UInt32 = 0, _ body: (UnsafePointer<ba_download>) -> Result
) -> Result {
  identifier.withCString { text in
    var download = ba_download()
    download.size = UInt32(MemoryLayout<ba_download>.size)
    download.flags = flags
    download.identifier = ba_text(text)
    download.unique_identifier = literal("5A1B2C3D-0000-0000-0000-000000000001")
    download.url = literal("https://assets.example.com/file")
    download.file_size = 12
    download.priority = 5
    download.state = 2
    return withUnsafePointer(to: download, body)
  }
}

/// Text that lives as long as the process, unlike what `ba_text` makes of a Swift string.
func literal(_ text: StaticString) -> ba_string {
  text.withUTF8Buffer { bytes in
    ba_string(bytes: UnsafeRawPointer(bytes.baseAddress!).assumingMemoryBound(to: CChar.self), length: bytes.count)
  }
}
