/// Gives equal texts of many rows one string.
struct Shared {
  private var known: [[UInt8]: String] = [:]
  private var last: (bytes: [UInt8], text: String) = ([], "")

  mutating func text(_ row: Query) -> String {
    if row.takeIfEqual(last.bytes) { return last.text }
    let bytes = row.bytes()
    let text = known[bytes] ?? String(decoding: bytes, as: UTF8.self)
    known[bytes] = text
    last = (bytes, text)
    return text
  }
}
