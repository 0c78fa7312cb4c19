internal import Foundation
internal import ServiceMachines
internal import ServiceProtocol

/// A download as the journal keeps it: fields without names, one after the other, behind a number for their order. Reading
/// 100,000 of them as JSON took the service ten seconds of its start.
extension ScheduledDownload {
  private static let version: UInt8 = 1

  var row: [UInt8] {
    var row = RowWriter()
    row.put(Self.version)
    row.put(value)
    row.put(entry != nil)
    if let entry { row.put(entry) }
    for flag in [isDiscarded, isUndelivered, hasFreshAnswer] { row.put(flag) }
    row.put(failure.flatMap { try? JSONEncoder().encode($0) } ?? Data())
    return row.bytes
  }

  /// nil: it isn't one. `names`: of those that many have in common.
  init?(row bytes: [UInt8], _ names: inout SharedNames) {
    var row = RowReader(bytes)
    guard row.byte() == Self.version, let value = row.downloadValue(&names), let hasEntry = row.flag() else {
      return nil
    }
    var entry: DownloadRegistry.Entry?
    if hasEntry {
      guard let found = row.entry(of: value, &names) else { return nil }
      entry = found
    }
    guard let isDiscarded = row.flag(), let isUndelivered = row.flag(), let hasFreshAnswer = row.flag(),
      let failure = row.data(), row.isAtEnd
    else { return nil }
    self.init(
      value: value, entry: entry,
      failure: failure.isEmpty ? nil : try? JSONDecoder().decode(ServiceFailure.self, from: failure))
    (self.isDiscarded, self.isUndelivered, self.hasFreshAnswer) = (isDiscarded, isUndelivered, hasFreshAnswer)
  }
}

/// One string for all rows in which the same one stands.
struct SharedNames {
  private var names: Set<String> = []
  /// More are other people's many names.
  private static let limit = 4096

  mutating func shared(_ name: String) -> String {
    if let index = names.firstIndex(of: name) { return names[index] }
    if names.count < Self.limit { names.insert(name) }
    return name
  }
}

private struct RowWriter {
  var bytes: [UInt8] = []

  init() { bytes.reserveCapacity(320) }

  mutating func put(_ byte: UInt8) { bytes.append(byte) }
  mutating func put(_ flag: Bool) { bytes.append(flag ? 1 : 0) }
  mutating func put(_ number: Int64) { withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) } }

  mutating func put(_ number: Int64?) {
    put(number != nil)
    if let number { put(number) }
  }

  mutating func put(_ text: String) {
    put(Int64(text.utf8.count))
    bytes.append(contentsOf: text.utf8)
  }

  mutating func put(_ data: Data) {
    put(Int64(data.count))
    bytes.append(contentsOf: data)
  }

  mutating func put(_ value: DownloadValue) {
    put(value.identifier)
    put(value.uniqueIdentifier)
    put(value.url)
    put(value.httpMethod)
    put(Int64(value.httpHeaders.count))
    for (name, content) in value.httpHeaders.sorted(by: { $0.key < $1.key }) {
      put(name)
      put(content)
    }
    put(value.httpBody != nil)
    if let body = value.httpBody { put(body) }
    put(value.applicationGroupIdentifier)
    put(value.fileSize)
    put(value.isEssential)
    put(Int64(value.priority))
    put(value.isManifest)
    put(Int64(value.state))
  }

  mutating func put(_ entry: DownloadRegistry.Entry) {
    put(entry.download.uniqueIdentifier)
    put(entry.download.identifier)
    put(entry.download.isEssential)
    put(entry.download.size)
    put(Int64(entry.download.priority))
    put(entry.download.host)
    put(Int64(entry.state.rawValue))
    put(entry.ownUrgency.rawValue)
    put(entry.owner.rawValue)
    put(entry.generation.map(Int64.init))
    put(Int64(entry.promotedBy.count))
    for connection in entry.promotedBy.sorted() { put(connection) }
    put(entry.isPaused)
    put(entry.isManifest)
    put(entry.isCancelling)
    put(entry.isKnownToEngine)
  }
}

/// Every function answers nil once the row has ended, and from then on.
private struct RowReader {
  private let bytes: [UInt8]
  private var at = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { at == bytes.count }

  mutating func byte() -> UInt8? {
    guard at < bytes.count else { return nil }
    defer { at += 1 }
    return bytes[at]
  }

  mutating func flag() -> Bool? { byte().map { $0 == 1 } }

  mutating func number() -> Int64? {
    guard bytes.count - at >= 8 else { return nil }
    defer { at += 8 }
    return bytes.withUnsafeBytes { Int64(littleEndian: $0.loadUnaligned(fromByteOffset: at, as: Int64.self)) }
  }

  /// The outer nil: there is no field. The inner: it says that there is no number.
  mutating func optionalNumber() -> Int64?? {
    guard let isThere = flag() else { return nil }
    return isThere ? number().map { .some($0) } : .some(nil)
  }

  private mutating func part() -> ArraySlice<UInt8>? {
    guard let count = number(), count >= 0, count <= Int64(bytes.count - at) else { return nil }
    defer { at += Int(count) }
    return bytes[at..<at + Int(count)]
  }

  mutating func text() -> String? { part().map { String(decoding: $0, as: UTF8.self) } }
  mutating func data() -> Data? { part().map { Data($0) } }

  mutating func downloadValue(_ names: inout SharedNames) -> DownloadValue? {
    guard let identifier = text(), let unique = text(), let url = text(), let method = text(), let count = number(),
      count >= 0, count <= Int64(bytes.count)
    else { return nil }
    var headers: [String: String] = [:]
    for _ in 0..<count {
      guard let name = text(), let content = text() else { return nil }
      headers[names.shared(name)] = content
    }
    guard let hasBody = flag() else { return nil }
    let body = hasBody ? data() : nil
    guard !hasBody || body != nil, let group = text(), let size = optionalNumber(), let isEssential = flag(),
      let priority = number(), let isManifest = flag(), let state = number()
    else { return nil }
    return DownloadValue(
      identifier: identifier, uniqueIdentifier: unique, url: url, httpMethod: names.shared(method),
      httpHeaders: headers, httpBody: body, applicationGroupIdentifier: names.shared(group), fileSize: size,
      isEssential: isEssential, priority: Int(priority), isManifest: isManifest, state: Int(state))
  }

  /// Identifiers that are those of `value` are the same strings.
  mutating func entry(of value: DownloadValue, _ names: inout SharedNames) -> DownloadRegistry.Entry? {
    guard let unique = text(), let identifier = text(), let isEssential = flag(), let size = optionalNumber(),
      let priority = number(), let host = text(),
      let state = number().flatMap({ DownloadRegistry.State(rawValue: Int($0)) }),
      let urgency = text().flatMap(DownloadRegistry.Urgency.init(rawValue:)),
      let owner = text().flatMap(DownloadRegistry.Owner.init(rawValue:)), let generation = optionalNumber(),
      let promoters = number(), promoters >= 0, promoters <= Int64(bytes.count)
    else { return nil }
    var promotedBy: Set<Int64> = []
    for _ in 0..<promoters {
      guard let connection = number() else { return nil }
      promotedBy.insert(connection)
    }
    guard let isPaused = flag(), let isManifest = flag(), let isCancelling = flag(), let isKnown = flag()
    else { return nil }
    let download = PlannedDownload(
      uniqueIdentifier: unique == value.uniqueIdentifier ? value.uniqueIdentifier : unique,
      identifier: identifier == value.identifier ? value.identifier : identifier, isEssential: isEssential, size: size,
      priority: Int(priority), host: names.shared(host))
    return DownloadRegistry.Entry(
      download: download, state: state, ownUrgency: urgency, owner: owner, generation: generation.map { Int($0) },
      promotedBy: promotedBy, isPaused: isPaused, isManifest: isManifest, isCancelling: isCancelling,
      isKnownToEngine: isKnown)
  }
}
