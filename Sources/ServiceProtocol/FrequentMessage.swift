/// Messages of which some come so often, or are so long, that `JSONEncoder` and `JSONDecoder` took most of their time (some
/// ten microseconds for the shortest, seven milliseconds for a list of a thousand downloads).
///
/// The same JSON is written and read here directly. What isn't one of these messages is nil, and so is text that isn't spelt
/// exactly as it is written here: it is for `JSONDecoder`, which also knows what is wrong with it.
protocol FrequentMessage {
  /// Appends the message's JSON; false, with nothing appended: it isn't one of them.
  func write(to text: inout JSONText) -> Bool

  static func read(_ text: inout JSONReader) -> Self?
}

extension ClientMessage: FrequentMessage {
  func write(to text: inout JSONText) -> Bool {
    guard case .request(let id, let request) = self else { return false }
    let (name, download): (StaticString, DownloadValue)
    switch request {
    case .currentDownloads:
      text.append(#"{"request":{"id":"#)
      text.append(id)
      text.append(#","request":{"currentDownloads":{}}}}"#)
      return true
    case .schedule(let value): (name, download) = (#","request":{"schedule":{"download":"#, value)
    case .startForeground(let value): (name, download) = (#","request":{"startForeground":{"download":"#, value)
    default: return false
    }
    text.append(#"{"request":{"id":"#)
    text.append(id)
    text.append(name)
    text.append(download)
    text.append("}}}}")
    return true
  }

  static func read(_ text: inout JSONReader) -> Self? {
    guard text.take(#"{"request":{"id":"#), let id = text.takeNumber(), text.take(#","request":{""#) else { return nil }
    if text.take(#"currentDownloads":{}}}}"#) { return .request(id: id, request: .currentDownloads) }
    let isForeground = text.take("startForeground")
    guard isForeground || text.take("schedule"), text.take(#"":{"download":"#), let download = text.takeDownload(),
      text.take("}}}}")
    else { return nil }
    return .request(
      id: id, request: isForeground ? .startForeground(download: download) : .schedule(download: download))
  }
}

extension ServiceMessage: FrequentMessage {
  func write(to text: inout JSONText) -> Bool {
    switch self {
    case .reply(let id, .done):
      text.append(#"{"reply":{"id":"#)
      text.append(id)
      text.append(#","reply":{"done":{}}}}"#)
    case .reply(let id, .downloads(let downloads)): Self.write(#"{"reply":{"id":"#, id, downloads, to: &text)
    case .part(let id, .downloads(let downloads)): Self.write(#"{"part":{"id":"#, id, downloads, to: &text)
    case .notify(.progress(let download, let written, let expected)):
      text.append(#"{"notify":{"event":{"progress":{"_0":"#)
      text.append(download)
      text.append(#","totalWritten":"#)
      text.append(written)
      text.append(#","totalExpected":"#)
      text.append(expected)
      text.append("}}}}")
    default: return false
    }
    return true
  }

  private static func write(
    _ start: StaticString, _ id: UInt64, _ downloads: [DownloadValue], to text: inout JSONText
  ) {
    text.append(start)
    text.append(id)
    text.append(#","reply":{"downloads":{"_0":["#)
    for (index, download) in downloads.enumerated() {
      if index > 0 { text.append(",") }
      text.append(download)
    }
    text.append("]}}}}")
  }

  static func read(_ text: inout JSONReader) -> Self? {
    if text.take(#"{"notify":{"event":{"progress":{"_0":"#) {
      guard let download = text.takeDownload(), text.take(#","totalWritten":"#), let written = text.takeSigned(),
        text.take(#","totalExpected":"#), let expected = text.takeSigned(), text.take("}}}}")
      else { return nil }
      return .notify(event: .progress(download, totalWritten: written, totalExpected: expected))
    }
    let isPart = text.take(#"{"part":{"id":"#)
    guard isPart || text.take(#"{"reply":{"id":"#), let id = text.takeNumber(), text.take(#","reply":{""#) else {
      return nil
    }
    if !isPart, text.take(#"done":{}}}}"#) { return .reply(id: id, reply: .done) }
    guard text.take(#"downloads":{"_0":["#) else { return nil }
    var downloads: [DownloadValue] = []
    if !text.take("]") {
      repeat {
        guard let download = text.takeDownload() else { return nil }
        downloads.append(download)
      } while text.take(",")
      guard text.take("]") else { return nil }
    }
    guard text.take("}}}}") else { return nil }
    return isPart ? .part(id: id, reply: .downloads(downloads)) : .reply(id: id, reply: .downloads(downloads))
  }
}

extension JSONText {
  fileprivate mutating func append(_ download: DownloadValue) {
    appendQuote()
    for (index, field) in download.fields.enumerated() {
      if index > 0 { append("|") }
      appendField(field)
    }
    appendQuote()
  }
}

extension JSONReader {
  fileprivate mutating func takeDownload() -> DownloadValue? {
    guard let text = takeString() else { return nil }
    return FieldText.validFields(text).flatMap { DownloadValue(fields: $0) }
  }
}
