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

extension BADownload {
  /// What the service is told, whatever a subclass says.
  final var value: DownloadValue {
    DownloadValue(
      identifier: record.identifier, uniqueIdentifier: serviceIdentifier, url: record.url,
      httpMethod: record.httpMethod, httpHeaders: record.httpHeaders, httpBody: record.httpBody,
      applicationGroupIdentifier: record.applicationGroupIdentifier, fileSize: record.fileSize.map(Int64.init),
      isEssential: record.isEssential, priority: record.priority, isManifest: self is ManifestDownload,
      state: ownState.rawValue)
  }
}
