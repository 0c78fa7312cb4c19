internal import Glibc
internal import Synchronization

/// Received bytes on their way to the disk. Filled on the network thread, then only read, by its holders.
///
/// @unchecked Sendable: `count` and the memory change on the network thread alone, before the buffer is handed on.
final class TransferBuffer: @unchecked Sendable {
  /// Where the first byte belongs in the file.
  let offset: Int64
  private(set) var count = 0
  let capacity: Int
  private let memory: UnsafeMutableRawPointer
  private let pool: BufferPool

  fileprivate init(offset: Int64, capacity: Int, memory: UnsafeMutableRawPointer, pool: BufferPool) {
    self.offset = offset
    self.capacity = capacity
    self.memory = memory
    self.pool = pool
  }

  deinit { pool.takeBack(memory, capacity) }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory, count: count) }
  var end: Int64 { offset + Int64(count) }

  /// Takes as much as fits, and says how much that was.
  func fill(from source: UnsafeRawBufferPointer) -> Int {
    let taken = min(source.count, capacity - count)
    if taken > 0, let start = source.baseAddress { memcpy(memory + count, start, taken) }
    count += taken
    return taken
  }
}

/// The memory that all transfers share: bounded, and reused while it is warm.
final class BufferPool: Sendable {
  /// Bytes of a full buffer, aligned to the page: what one write moves. The buffers of a transfer fit the processor's
  /// second-level cache together, which the bytes pass on their way to the file and through the digest.
  static let bufferSize = 128 << 10
  /// Files up to this are one buffer: they go from thread to thread once.
  static let wholeFile = 256 << 10
  /// A file that was cut by a crash is trusted up to a multiple of this.
  static let alignment: Int64 = 1 << 20
  /// Bytes beyond which only transfers that have nothing in flight get another buffer.
  static let budget = 4 << 20
  /// Bytes that are kept: enough for one fast transfer, or for some small files at a time, which would otherwise get new
  /// pages from the kernel for every buffer.
  private static let kept = 2 << 20

  /// @unchecked Sendable: an address that isn't used any more.
  private struct Idle: @unchecked Sendable { let memory: UnsafeMutableRawPointer }
  /// Of both sizes that are kept.
  private struct Kept: Sendable {
    var full: [Idle] = []
    var whole: [Idle] = []

    var bytes: Int { full.count * BufferPool.bufferSize + whole.count * BufferPool.wholeFile }

    mutating func take(_ capacity: Int) -> Idle? {
      switch capacity {
      case BufferPool.bufferSize: full.popLast()
      case BufferPool.wholeFile: whole.popLast()
      default: nil
      }
    }

    /// Whether it is kept.
    mutating func keep(_ entry: Idle, _ capacity: Int) -> Bool {
      guard bytes + capacity <= BufferPool.kept else { return false }
      switch capacity {
      case BufferPool.bufferSize: full.append(entry)
      case BufferPool.wholeFile: whole.append(entry)
      default: return false
      }
      return true
    }
  }
  private let idle = Mutex(Kept())
  private let outstanding = Atomic<Int>(0)

  deinit { idle.withLock { for entry in $0.full + $0.whole { free(entry.memory) } } }

  var isExhausted: Bool { outstanding.load(ordering: .relaxed) >= Self.budget }
  /// Files that wait to be published hold so much that transfers would feel it.
  var isCrowded: Bool { outstanding.load(ordering: .relaxed) >= Self.budget / 2 }

  /// A buffer for bytes from `offset` on; small where little is expected. nil when there is no memory.
  func buffer(at offset: Int64, expecting remaining: Int64?) -> TransferBuffer? {
    let capacity = Self.capacity(at: offset, expecting: remaining)
    var memory = capacity > Self.bufferSize / 2 ? idle.withLock { $0.take(capacity) }?.memory : nil
    if memory == nil, posix_memalign(&memory, 4096, capacity) != 0 { return nil }
    guard let memory else { return nil }
    outstanding.add(capacity, ordering: .relaxed)
    return TransferBuffer(offset: offset, capacity: capacity, memory: memory, pool: self)
  }

  private static func capacity(at offset: Int64, expecting remaining: Int64?) -> Int {
    guard let remaining else { return bufferSize }
    if offset == 0, remaining > Int64(bufferSize), remaining <= Int64(wholeFile) { return wholeFile }
    let wanted = Int(min(max(remaining, 1), Int64(bufferSize)))
    return wanted > bufferSize / 2 ? bufferSize : (wanted + 4095) & ~4095
  }

  fileprivate func takeBack(_ memory: UnsafeMutableRawPointer, _ capacity: Int) {
    outstanding.subtract(capacity, ordering: .relaxed)
    let entry = Idle(memory: memory)
    if capacity <= Self.bufferSize / 2 || !idle.withLock({ $0.keep(entry, capacity) }) { free(memory) }
  }
}
