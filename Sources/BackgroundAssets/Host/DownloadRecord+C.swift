import CExtension

extension BADownload {
  /// Lends the download in the ABI's form for the length of `body`.
  func withCDownload<Result>(_ body: (UnsafePointer<ba_download>) -> Result) -> Result {
    var bytes = BorrowedBytes()
    var download = ba_download()
    download.size = UInt32(MemoryLayout<ba_download>.size)
    if record.isEssential { download.flags |= BA_DOWNLOAD_ESSENTIAL }
    if record.fileSize == nil { download.flags |= BA_DOWNLOAD_SIZE_UNKNOWN }
    if self is ManifestDownload { download.flags |= BA_DOWNLOAD_MANIFEST }
    download.identifier = bytes.string(record.identifier)
    download.unique_identifier = bytes.string(record.uniqueIdentifier)
    download.url = bytes.string(record.url)
    download.http_method = bytes.string(record.httpMethod)
    if let body = record.httpBody { download.http_body = bytes.data(body) }
    if !record.httpHeaders.isEmpty {
      download.http_headers = bytes.headers(record.httpHeaders)
      download.http_header_count = record.httpHeaders.count
    }
    download.application_group_identifier = bytes.string(record.applicationGroupIdentifier)
    download.file_size = Int64(record.fileSize ?? 0)
    download.priority = Int64(record.priority)
    download.state = Int32(ownState.rawValue)
    return withUnsafePointer(to: download, body)
  }

  /// Copies a download that a host lends: of the manifest's own class if it is the manifest.
  static func copied(from download: UnsafePointer<ba_download>, state: State? = nil) -> BADownload {
    let source = download.pointee
    let record = DownloadRecord(copying: source)
    let state = state ?? State(rawValue: Int(source.state)) ?? .created
    return source.flags & BA_DOWNLOAD_MANIFEST != 0
      ? ManifestDownload(record: record, state: state) : BAURLDownload(record: record, state: state)
  }
}

extension DownloadRecord {
  fileprivate init(copying source: ba_download) {
    var headers: [String: String] = [:]
    for header in UnsafeBufferPointer(start: source.http_headers, count: source.http_header_count) {
      headers[header.name.text] = header.value.text
    }
    let method = source.http_method.text
    let uniqueIdentifier = source.unique_identifier.text
    self.init(
      identifier: source.identifier.text,
      uniqueIdentifier: uniqueIdentifier.isEmpty ? Self.newUniqueIdentifier() : uniqueIdentifier,
      isEssential: source.flags & BA_DOWNLOAD_ESSENTIAL != 0, priority: Int(source.priority),
      fileSize: source.flags & BA_DOWNLOAD_SIZE_UNKNOWN != 0 ? nil : Int(source.file_size),
      applicationGroupIdentifier: source.application_group_identifier.text, url: source.url.text,
      httpMethod: method.isEmpty ? "GET" : method, httpHeaders: headers, httpBody: source.http_body.data)
  }
}
