import CExtension

/// The host that has loaded this extension.
///
/// @unchecked Sendable: a host's table is constant for the life of the process, and its callbacks may be called from any
/// thread.
struct Host: @unchecked Sendable {
  private let table: UnsafePointer<ba_host>

  /// Nil in an app, and in an extension before its first entry point is called.
  static var current: Host? {
    guard let table = ba_current_host() else { return nil }
    return Host(table: table)
  }

  func log(_ level: Int32, _ message: String) {
    guard let log = table.pointee.log else { return }
    var bytes = BorrowedBytes()
    log(table, level, bytes.string("BackgroundAssets"), bytes.string("extension"), bytes.string(message))
  }

  // A table without a callback comes from a broken host; it is answered as if the connection were gone.

  func answer(_ download: BADownload) -> ba_status {
    download.withCDownload { table.pointee.answer?(table, $0) ?? BA_CALLER_CONNECTION_INVALID }
  }

  func schedule(_ download: BADownload) -> ba_status {
    download.withCDownload { table.pointee.schedule?(table, $0) ?? BA_CALLER_CONNECTION_INVALID }
  }

  func cancel(_ identifier: String) -> ba_status {
    var bytes = BorrowedBytes()
    return table.pointee.cancel?(table, bytes.string(identifier)) ?? BA_CALLER_CONNECTION_INVALID
  }

  func currentDownloads() -> (status: ba_status, downloads: [BADownload]) {
    var downloads: [BADownload] = []
    let status = withUnsafeMutablePointer(to: &downloads) { list in
      table.pointee.current_downloads?(
        table,
        { context, download in
          guard let context, let download else { return }
          context.assumingMemoryBound(to: [BADownload].self).pointee.append(.copied(from: download))
        }, list) ?? BA_CALLER_CONNECTION_INVALID
    }
    return (status, downloads)
  }

  /// Blocks for at most `timeout` nanoseconds.
  func acquireExclusiveControl(timeout: Int64) -> ba_status {
    table.pointee.acquire_exclusive_control?(table, timeout) ?? BA_CALLER_CONNECTION_INVALID
  }

  func releaseExclusiveControl() { table.pointee.release_exclusive_control?(table) }

  func beginActivity() { table.pointee.begin_activity?(table) }
  func endActivity() { table.pointee.end_activity?(table) }

  /// Whether events of downloads are wanted. A host of before there were any has no such callback.
  func observe(_ isObserving: Bool) {
    guard table.pointee.size >= UInt32(MemoryLayout<ba_host>.size) else { return }
    table.pointee.observe?(table, isObserving ? 1 : 0)
  }

  func containerPath(forGroup group: String) -> String? {
    guard let containerPath = table.pointee.container_path else { return nil }
    var bytes = BorrowedBytes()
    let group = bytes.string(group)
    var capacity = Int(PATH_MAX)
    // The second round has the capacity that the first asked for; a host that then asks for more isn't believed.
    for _ in 0..<2 {
      var length = 0
      var status = BA_FAILED
      let path = withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { buffer in
        status = containerPath(table, group, buffer.baseAddress, capacity, &length)
        return status == BA_OK && length < capacity ? ba_string(bytes: buffer.baseAddress, length: length).text : nil
      }
      if let path { return path }
      guard status == BA_FAILED, length > capacity, length < 1 << 20 else { return nil }
      capacity = length
    }
    return nil
  }
}
