internal import AssetModel
internal import Downloads

/// Fields of requests as people write them: `NAME: VALUE`.
enum FetchHeaders {
  static func parse(_ texts: [String]) throws(Failure) -> [Download.Header] {
    var headers: [Download.Header] = []
    for text in texts { headers.append(try header(text)) }
    guard headers.count <= DownloadRules.maxHeaders else {
      throw Failure(64, "--header: \(headers.count) fields are too many; at most \(DownloadRules.maxHeaders) do")
    }
    let bytes = headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    guard bytes <= DownloadRules.longestHeaders else {
      throw Failure(64, "--header: the fields have \(bytes) bytes; at most \(DownloadRules.longestHeaders) do")
    }
    return headers
  }

  private static func header(_ text: String) throws(Failure) -> Download.Header {
    // A value may be a secret, and isn't shown.
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
      throw Failure(64, "--header: a field is written NAME: VALUE, and there is no colon")
    }
    var value = text.utf8[text.utf8.index(after: colon)...]
    while let first = value.first, isBlank(first) { value.removeFirst() }
    while let last = value.last, isBlank(last) { value.removeLast() }
    let header = Download.Header(name: String(text[..<colon]), value: String(decoding: value, as: UTF8.self))
    if let reason = DownloadRules.rejectionReason(forHeader: header) { throw Failure(64, "--header: \(reason)") }
    guard RequestFields.mayBeSet(header.name) else {
      throw Failure(64, "--header: \(header.name) is what the engine says by itself; leave it out")
    }
    return header
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
