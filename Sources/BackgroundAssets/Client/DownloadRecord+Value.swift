internal import ServiceProtocol

extension DownloadRecord {
  init(_ value: DownloadValue) {
    self.init(
      identifier: value.identifier,
      uniqueIdentifier: value.uniqueIdentifier.isEmpty ? Self.newUniqueIdentifier() : value.uniqueIdentifier,
      isEssential: value.isEssential, priority: value.priority, fileSize: value.fileSize.map(Int.init),
      applicationGroupIdentifier: value.applicationGroupIdentifier, url: value.url, httpMethod: value.httpMethod,
      httpHeaders: value.httpHeaders, httpBody: value.httpBody)
  }
}

extension DownloadValue {
  /// What the service is told, whatever a subclass says.
  init(_ download: BADownload) {
    let record = download.record
    self.init(
      identifier: record.identifier, uniqueIdentifier: download.serviceIdentifier, url: record.url,
      httpMethod: record.httpMethod, httpHeaders: record.httpHeaders, httpBody: record.httpBody,
      applicationGroupIdentifier: record.applicationGroupIdentifier, fileSize: record.fileSize.map(Int64.init),
      isEssential: record.isEssential, priority: record.priority, isManifest: download is ManifestDownload,
      state: download.ownState.rawValue)
  }

  /// Whether the object says the same of it. A record never changes: otherwise another object is needed.
  func describes(_ download: BADownload) -> Bool {
    let record = download.record
    return record.identifier == identifier && record.isEssential == isEssential && record.priority == priority
      && download is ManifestDownload == isManifest
  }
}
