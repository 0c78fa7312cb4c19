internal import Glibc
internal import LinuxSystem

/// A file as a parser reads it, here and there. However long it is, a few of its parts are in memory at a time; mapped
/// instead, it would end the host with SIGBUS when another process truncates it.
final class FileWindows {
  /// A page: what lies here and there costs no more than it is.
  private static let bits: UInt64 = 12
  private static let kept = 64

  let count: UInt64
  /// Reads up to so many bytes from an offset; what can't be read isn't there.
  private let read: (UInt64, Int) -> [UInt8]
  private var windows = [(index: UInt64, bytes: [UInt8])](repeating: (.max, []), count: kept)

  init(count: UInt64, read: @escaping (UInt64, Int) -> [UInt8]) {
    self.count = count
    self.read = read
  }

  /// `number`: stays open as long as this is in use. Once `reading` is over nothing more is there.
  convenience init(descriptor number: Int32, count: UInt64, reading: ReadingTime = .unlimited) {
    self.init(count: count) { offset, size in
      guard !reading.isOver else { return [] }
      return [UInt8](unsafeUninitializedCapacity: size) { buffer, filled in
        filled = max(pread(number, buffer.baseAddress, size, off_t(offset)), 0)
      }
    }
  }

  convenience init(_ bytes: [UInt8]) {
    self.init(count: UInt64(bytes.count)) { offset, size in Array(bytes[Int(offset)...].prefix(size)) }
  }

  /// The bytes from `offset` to the end of its window; empty beyond the end of the file.
  private func bytes(from offset: UInt64) -> ArraySlice<UInt8> {
    guard offset < count else { return [] }
    let index = offset >> Self.bits
    let slot = Int(index % UInt64(Self.kept))
    if windows[slot].index != index {
      let start = index << Self.bits
      windows[slot] = (index, read(start, Int(min(1 << Self.bits, count - start))))
    }
    let at = Int(offset & (1 << Self.bits - 1))
    let bytes = windows[slot].bytes
    return at < bytes.count ? bytes[at...] : []
  }

  /// Up to so many bytes in one piece.
  func block(_ offset: UInt64, _ size: Int) -> [UInt8] {
    guard offset < count, size > 0 else { return [] }
    return read(offset, Int(min(UInt64(size), count - offset)))
  }

  /// A little-endian number of `width` bytes; nil where it doesn't lie wholly within the file.
  func integer(_ offset: UInt64, _ width: Int) -> UInt64? {
    guard offset <= count, count - offset >= UInt64(width) else { return nil }
    var part = bytes(from: offset)
    while part.count < width {
      // It goes on in the next window.
      let more = bytes(from: offset + UInt64(part.count))
      if more.isEmpty { return nil }
      part += more
    }
    return part.prefix(width).reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// The bytes up to the next zero; nil where there is none among the next `limit`.
  func text(_ offset: UInt64, limit: Int = 4096) -> String? {
    var found: [UInt8] = []
    while found.count < limit {
      let part = bytes(from: offset &+ UInt64(found.count)).prefix(limit - found.count)
      if part.isEmpty { return nil }
      guard let end = part.firstIndex(of: 0) else {
        found += part
        continue
      }
      return String(decoding: found.isEmpty ? part[..<end] : (found + part[..<end])[...], as: UTF8.self)
    }
    return nil
  }
}
