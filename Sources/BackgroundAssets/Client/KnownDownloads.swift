internal import ServiceProtocol
import Synchronization

/// The download objects of this process, so that what the service says of one reaches the object that the app has.
///
/// Held weakly: an object that the app has let go is made anew.
final class KnownDownloads: Sendable {
  private struct Entry {
    weak var download: BADownload?
  }

  private struct Table {
    var entries: [String: Entry] = [:]
    /// Entries at which those of objects that are gone are looked for next.
    var limit = 64

    mutating func add(_ download: BADownload) {
      if entries.count >= limit {
        entries = entries.filter { $0.value.download != nil }
        limit = max(64, 2 * entries.count)
      }
      entries[download.serviceIdentifier] = Entry(download: download)
    }
  }

  private let table = Mutex(Table())

  func remember(_ download: BADownload) {
    table.withLock { $0.add(download) }
  }

  /// What the service still says of the download that has ended isn't about this object any more. Returns as
  /// `BADownload.beginAnew`.
  func beginAnew(_ download: BADownload) -> BADownload.State? {
    table.withLock { table in
      let before = download.serviceIdentifier
      guard let ended = download.beginAnew() else { return nil }
      table.entries[before] = nil
      return ended
    }
  }

  /// The service has scheduled the download under another name. This process may have missed how it ended under the one before.
  func rename(_ download: BADownload, to name: String) {
    table.withLock { table in
      let before = download.serviceIdentifier
      guard before != name else { return }
      table.entries[before] = nil
      // An event may have overtaken the reply, and has made an object of its own.
      download.rename(to: name, in: table.entries[name]?.download?.ownState ?? .waiting)
      table.add(download)
    }
  }

  /// The object for a download, in the state that the service says, or in `state` where the event itself says it.
  func object(for value: DownloadValue, state: BADownload.State? = nil) -> BADownload {
    let state = state ?? BADownload.State(rawValue: value.state) ?? .created
    return table.withLock { table in
      if let known = table.entries[value.uniqueIdentifier]?.download, value.describes(known) {
        known.move(to: state)
        return known
      }
      let record = DownloadRecord(value)
      let made: BADownload =
        value.isManifest
        ? ManifestDownload(record: record, state: state) : BAURLDownload(record: record, state: state)
      table.add(made)
      return made
    }
  }
}
