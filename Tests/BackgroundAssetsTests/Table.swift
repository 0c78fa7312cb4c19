import BackgroundAssets
import CExtension

/// Calls an extension's entry points by name, as a runner does.
struct Table {
  private let entries: [String: ba_entry_point]
  let name: String

  init?<Extension: BADownloaderExtension>(of type: Extension.Type) {
    Extension.main()
    guard let table = background_assets_extension(BA_ABI_VERSION)?.pointee else { return nil }
    name = String(cString: table.name)
    let points = UnsafeBufferPointer(start: table.entry_points, count: table.entry_point_count)
    entries = Dictionary(uniqueKeysWithValues: points.map { (String(cString: $0.name), $0) })
  }

  var signatures: [String: String] { entries.mapValues { String(cString: $0.signature) } }

  func contentRequest(
    _ host: FakeHost, kind: Int32, manifest: String = "/dev/null", remaining: Int64 = BA_UNRESTRICTED,
    size: Int = MemoryLayout<ba_content_request>.size
  )
    -> ba_status
  {
    let call = function(BA_CONTENT_REQUEST, as: ba_content_request_function.self)
    return manifest.withCString { path in
      var request = ba_content_request(
        size: UInt32(size), kind: kind, manifest_path: ba_text(path),
        restricted_download_size_remaining: remaining, restricted_essential_download_size_remaining: remaining)
      return call(host.table, &request)
    }
  }

  func finished(_ host: FakeHost, _ identifier: String, path: String, flags: UInt32 = 0) -> ba_status {
    let call = function(BA_DOWNLOAD_FINISHED, as: ba_download_finished_function.self)
    return withCDownload(identifier, flags: flags) { call(host.table, $0, path) }
  }

  func failed(_ host: FakeHost, _ identifier: String, code: Int64, flags: UInt32 = 0) -> ba_status {
    let call = function(BA_DOWNLOAD_FAILED, as: ba_download_failed_function.self)
    var error = ba_error()
    error.size = UInt32(MemoryLayout<ba_error>.size)
    error.code = code
    error.domain = literal("NSURLErrorDomain")
    error.description = literal("timed out")
    return withCDownload(identifier, flags: flags) { call(host.table, $0, &error) }
  }

  func challenge(_ host: FakeHost, _ identifier: String) -> (status: ba_status, answer: ba_challenge_answer) {
    let call = function(BA_AUTHENTICATION_CHALLENGE, as: ba_authentication_challenge_function.self)
    var challenge = ba_challenge()
    challenge.size = UInt32(MemoryLayout<ba_challenge>.size)
    challenge.port = 443
    challenge.host = literal("assets.example.com")
    challenge.protocol = literal("https")
    challenge.authentication_method = literal("NSURLAuthenticationMethodHTTPBasic")
    var answer = ba_challenge_answer()
    answer.size = UInt32(MemoryLayout<ba_challenge_answer>.size)
    answer.disposition = -1
    let status = withCDownload(identifier) { call(host.table, $0, &challenge, &answer) }
    return (status, answer)
  }

  func willTerminate(_ host: FakeHost) { function(BA_WILL_TERMINATE, as: ba_will_terminate_function.self)(host.table) }

  private func function<Function>(_ name: String, as type: Function.Type) -> Function {
    unsafeBitCast(entries[name]!.function, to: type)
  }
}
