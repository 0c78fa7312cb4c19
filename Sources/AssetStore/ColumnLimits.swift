internal import AssetModel

/// Bytes that a text may have: the schema's own checks, named for the caller before anything is written.
enum ColumnLimits {
  static let name = DownloadRules.longestIdentifier
  static let url = DownloadRules.longestURL
  static let path = 4_096
  static let fileName = 255
  static let message = 4_096
  static let text = 65_536

  static func check(_ field: String, _ text: String, _ limit: Int) throws(StoreError) {
    let count = text.utf8.count
    if count > limit { throw .tooLong(field: field, bytes: count, limit: limit) }
  }

  static func check(_ s: DownloadSpecification) throws(StoreError) {
    try check("app", s.app, name)
    try check("identifier", s.identifier, name)
    try check("url", s.url, url)
    try check("directory", s.directory, path)
    try check("fileName", s.fileName, fileName)
    try check("budget", s.budget ?? "", name)
    let headers = s.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    if headers > text { throw .tooLong(field: "headers", bytes: headers, limit: text) }
    let domains = (s.allowedDomains ?? []).reduce(0) { $0 + $1.utf8.count }
    if domains > text { throw .tooLong(field: "allowedDomains", bytes: domains, limit: text) }
  }

  static func check(_ event: StoredEvent) throws(StoreError) {
    try check("kind", event.kind, 64)
    try check("app", event.app ?? "", name)
  }

  /// What people read may be cut; what identifies something may not.
  static func cut(_ text: String, _ limit: Int = message) -> String {
    guard text.utf8.count > limit else { return text }
    var result = ""
    var count = 0
    for scalar in text.unicodeScalars {
      count += UTF8.width(scalar)
      if count > limit { break }
      result.unicodeScalars.append(scalar)
    }
    return result
  }
}
