/// Everything about a download but its state, as a value.
///
/// Only what a host transfers is kept of the request: URL, method, header fields and body.
struct DownloadRecord: Sendable, Codable {
  var identifier: String
  var uniqueIdentifier = UUID().uuidString
  var isEssential: Bool
  var priority: Int
  /// Bytes; nil if unknown beforehand.
  var fileSize: Int?
  var applicationGroupIdentifier: String
  /// Absolute; empty if the request had none, which the host then rejects.
  var url: String
  var httpMethod: String
  var httpHeaders: [String: String]
  var httpBody: Data?
}

extension DownloadRecord {
  init(
    identifier: String, request: URLRequest, essential: Bool, fileSize: Int?, applicationGroupIdentifier: String,
    priority: BADownload.Priority
  ) {
    self.init(
      identifier: identifier, isEssential: essential, priority: priority.rawValue, fileSize: fileSize,
      applicationGroupIdentifier: applicationGroupIdentifier, url: request.url?.absoluteString ?? "",
      httpMethod: request.httpMethod ?? "GET", httpHeaders: request.allHTTPHeaderFields ?? [:],
      httpBody: request.httpBody)
  }
}
