internal import ServiceClient
internal import ServiceProtocol

/// The calls of `BADownloadManager` in an app. What can be known to be wrong here is refused here.
extension ServiceLink {
  func currentDownloads() throws -> [BADownload] {
    let operation = "fetchCurrentDownloads"
    guard case .downloads(let values) = try ask(.currentDownloads, for: operation) else {
      throw unexpectedReply(to: operation)
    }
    return values.map { downloads.object(for: $0) }
  }

  func schedule(_ download: BADownload) throws {
    try check(download)
    let ended = downloads.beginAnew(download)
    let operation = "Scheduling the download '\(download.record.identifier)'"
    do { try add(download, by: .schedule(download: DownloadValue(download)), operation) } catch {
      if let ended { download.moveOn(from: [.created], to: ended) }
      throw error
    }
  }

  func startForeground(_ download: BADownload) throws {
    // The service knows how urgent its own download is: it isn't for who promotes all that is there to know.
    if !(download is ManifestDownload) { try check(download) }
    let identifier = download.record.identifier
    guard isActive else { throw FrameworkError.foregroundFromInactiveProcess(identifier) }
    let operation = "Starting the download '\(identifier)' in the foreground"
    try add(download, by: .startForeground(download: DownloadValue(download)), operation)
  }

  func cancel(_ download: BADownload) throws {
    let record = download.record
    let request = ClientRequest.cancel(identifier: record.identifier, uniqueIdentifier: download.serviceIdentifier)
    _ = try ask(request, for: "Cancelling the download '\(record.identifier)'")
  }

  private func check(_ download: BADownload) throws {
    guard !download.record.isEssential else { throw FrameworkError.essentialNotPermitted(download.record.identifier) }
    if let violation = download.record.violation { throw violation }
  }

  /// Known before the service is asked: its first event may overtake its reply.
  private func add(_ download: BADownload, by request: ClientRequest, _ operation: String) throws {
    downloads.remember(download)
    let reply = try ask(request, for: operation)
    if case .downloads(let values) = reply, let name = values.first?.uniqueIdentifier, !name.isEmpty {
      downloads.rename(download, to: name)
    }
    // It may have failed by now: then it stays so.
    download.moveOn(from: [.created], to: .waiting)
  }

  func ask(_ request: ClientRequest, for operation: String) throws -> Reply {
    do { return try self.request(request) } catch { throw error.error(of: operation) }
  }

  private func unexpectedReply(to operation: String) -> NSError {
    FrameworkError.make(
      .callerConnectionInvalid,
      "\(operation) failed: the service answered something else. "
        + "Check that service and app are of the same version of Outrider.")
  }
}
