internal import AssetModel
internal import Basics
internal import HostProtocol

/// The downloads that a plugin may look up, may not schedule twice, and may cancel: what it scheduled beside its answers,
/// and what it answered where the host has taken that on. They are kept in the host, so they are bounded in bytes as well as
/// in number, and with them the answer that lists them.
struct ScheduledDownloads {
  /// What a plugin is told that may not have its way: raw values of `BAErrorCode`.
  enum Refusal {
    static let duringRequest: Int32 = 50
    static let isScheduled: Int32 = 100
    static let isUnknown: Int32 = 101
    static let isTooMuch: Int32 = 102
  }

  static let maxCount = 10_000
  static let maxBytes = 1 << 20

  /// What the plugin scheduled by itself, whatever has become of it.
  private(set) var downloads: [Download] = []
  private(set) var bytes = 0
  /// Those of them that have finished or failed.
  private var over: Set<String> = []
  /// What the host took on. The list of them ends at as many bytes; their names are complete.
  private var adopted: [Download] = []
  private var adoptedIdentifiers: Set<String> = []

  /// What the host is at work on.
  var current: [Download] { adopted + downloads.filter { !over.contains($0.identifier) } }

  /// 0, or the raw value of a `BAErrorCode`.
  mutating func add(_ download: Download) -> Int32 {
    if let rejection = DownloadRules(request: nil).rejectionReason(for: download) { return rejection.code }
    if adoptedIdentifiers.contains(download.identifier) { return Refusal.isScheduled }
    let earlier = downloads.firstIndex { $0.identifier == download.identifier }
    if earlier != nil, !over.contains(download.identifier) { return Refusal.isScheduled }
    let waiting = Self.waiting(download)
    let size = Self.size(of: waiting)
    let freed = earlier.map { Self.size(of: downloads[$0]) } ?? 0
    guard downloads.count - (earlier == nil ? 0 : 1) < Self.maxCount, bytes - freed + size <= Self.maxBytes else {
      return Refusal.isTooMuch
    }
    if let earlier {
      downloads.remove(at: earlier)
      over.remove(download.identifier)
    }
    bytes += size - freed
    downloads.append(waiting)
    return 0
  }

  /// 0, or a refusal. What is given back may be used again.
  mutating func cancel(_ identifier: String) -> Int32 {
    if forgetAdopted(identifier) { return 0 }
    guard !over.contains(identifier), let index = downloads.firstIndex(where: { $0.identifier == identifier }) else {
      return Refusal.isUnknown
    }
    bytes -= Self.size(of: downloads.remove(at: index))
    return 0
  }

  /// From now on the host is at work on these, too.
  mutating func adopt(_ answer: [Download]) {
    var size = adopted.reduce(0) { $0 + Self.size(of: $1) }
    for download in answer where adoptedIdentifiers.insert(download.identifier).inserted {
      let waiting = Self.waiting(download)
      size += Self.size(of: waiting)
      if size <= Self.maxBytes { adopted.append(waiting) }
    }
  }

  /// The host is done with it, one way or the other: it may be scheduled again.
  mutating func finish(_ identifier: String) {
    if !forgetAdopted(identifier), downloads.contains(where: { $0.identifier == identifier }) {
      over.insert(identifier)
    }
  }

  private mutating func forgetAdopted(_ identifier: String) -> Bool {
    guard adoptedIdentifiers.remove(identifier) != nil else { return false }
    adopted.removeAll { $0.identifier == identifier }
    return true
  }

  /// As it is once the host has it, whatever it was when the plugin handed it in.
  static func waiting(_ download: Download) -> Download {
    var download = download.identified
    download.state = 1
    return download
  }

  /// Bytes of a download as a frame carries it.
  static func size(of download: Download) -> Int {
    var writer = ByteWriter()
    writer.download(download)
    return writer.bytes.count
  }
}

extension Download {
  /// With a unique identifier of the host's where the plugin gave none.
  var identified: Download {
    var download = self
    if download.uniqueIdentifier.isEmpty { download.uniqueIdentifier = UniqueIdentifier.random() }
    return download
  }
}
