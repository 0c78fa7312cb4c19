/// A string by its bytes: Swift takes canonically equivalent spellings for equal, the database and the disk don't.
struct Exact: Hashable {
  private let bytes: [UInt8]

  init(bytes: [UInt8]) { self.bytes = bytes }
  init(_ text: String) { bytes = Array(text.utf8) }
}
