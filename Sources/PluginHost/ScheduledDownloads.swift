internal import AssetModel
internal import Foundation
internal import HostProtocol

/// What a plugin scheduled beside its answers. It is kept in the host, so it is bounded in bytes as well as in number,
/// and with it the answer that lists it.
struct ScheduledDownloads {
  static let most = 10_000
  static let mostBytes = 1 << 20

  private(set) var downloads: [Download] = []
  private(set) var bytes = 0

  /// 0, or the raw value of a `BAErrorCode`.
  mutating func add(_ download: Download) -> Int32 {
    if let rejection = DownloadRules(request: nil).objection(to: download) { return rejection.code }
    if downloads.contains(where: { $0.identifier == download.identifier }) { return 100 }
    let waiting = Self.waiting(download)
    let size = Self.size(of: waiting)
    guard downloads.count < Self.most, bytes + size <= Self.mostBytes else { return 102 }
    bytes += size
    downloads.append(waiting)
    return 0
  }

  /// 0, or the raw value of a `BAErrorCode`. What is given back may be used again.
  mutating func cancel(_ identifier: String) -> Int32 {
    guard let index = downloads.firstIndex(where: { $0.identifier == identifier }) else { return 101 }
    bytes -= Self.size(of: downloads.remove(at: index))
    return 0
  }

  /// As it is once the host has it, whatever it was when the plugin handed it in.
  private static func waiting(_ download: Download) -> Download {
    var download = download.identified
    download.state = 1
    return download
  }

  /// Bytes of a download as a frame carries it.
  private static func size(of download: Download) -> Int {
    var writer = ByteWriter()
    writer.download(download)
    return writer.bytes.count
  }
}

extension Download {
  /// With a unique identifier of the host's where the plugin gave none.
  var identified: Download {
    var download = self
    if download.uniqueIdentifier.isEmpty { download.uniqueIdentifier = UUID().uuidString }
    return download
  }
}
