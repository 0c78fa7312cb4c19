import CExtension

extension ba_string {
  /// A copy of the text; bytes that aren't UTF-8 are replaced.
  var text: String {
    guard let bytes, length > 0 else { return "" }
    return bytes.withMemoryRebound(to: UInt8.self, capacity: length) {
      String(decoding: UnsafeBufferPointer(start: $0, count: length), as: UTF8.self)
    }
  }

  var data: Data? {
    guard let bytes, length > 0 else { return nil }
    return Data(bytes: bytes, count: length)
  }
}

/// Owns the bytes that one C call borrows; they are freed with it.
struct BorrowedBytes: ~Copyable {
  private var blocks: [UnsafeMutableRawPointer] = []

  mutating func string(_ text: String) -> ba_string {
    var text = text
    return text.withUTF8 { bytes(UnsafeRawBufferPointer($0)) }
  }

  mutating func data(_ data: Data) -> ba_string { data.withUnsafeBytes { bytes($0) } }

  mutating func headers(_ headers: [String: String]) -> UnsafePointer<ba_header> {
    let block = UnsafeMutablePointer<ba_header>.allocate(capacity: headers.count)
    blocks.append(UnsafeMutableRawPointer(block))
    for (index, header) in headers.sorted(by: { $0.key < $1.key }).enumerated() {
      block[index] = ba_header(name: string(header.key), value: string(header.value))
    }
    return UnsafePointer(block)
  }

  private mutating func bytes(_ source: UnsafeRawBufferPointer) -> ba_string {
    guard let base = source.baseAddress, !source.isEmpty else { return ba_string(bytes: nil, length: 0) }
    let block = UnsafeMutableRawPointer.allocate(byteCount: source.count, alignment: 1)
    block.copyMemory(from: base, byteCount: source.count)
    blocks.append(block)
    return ba_string(bytes: UnsafePointer(block.assumingMemoryBound(to: CChar.self)), length: source.count)
  }

  deinit {
    for block in blocks { block.deallocate() }
  }
}
