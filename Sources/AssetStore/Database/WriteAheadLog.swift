internal import Glibc
internal import LinuxSystem

/// What SQLite would take from a write-ahead log (SQLite file format, section 4): frames up to the last commit whose checksums
/// hold. A checkpoint writes the pages into the database one by one, so that one which was interrupted leaves a file that is
/// shorter than its header says, and the rest in here.
struct WriteAheadLog {
  /// Pages of the database after the last commit; 0: the log holds no commit.
  private(set) var pageCount: Int64 = 0
  /// Pages beyond `offset` that the log holds.
  private(set) var pages: Set<Int64> = []

  /// Whether there is anything in the log of a database. A store that was closed leaves none.
  static func isEmpty(of database: String) -> Bool {
    ((try? Files.identity(of: database + "-wal"))?.size ?? 0) <= headerLength
  }

  private static let headerLength: Int64 = 32
  private static let frameHeaderLength = 24

  /// Reads a frame at a time. `offset`: the page after which pages are of interest.
  init(of database: String, after offset: Int64) throws(SystemCallError) {
    let path = database + "-wal"
    guard Files.exists(path) else { return }
    let file = try OwnedDescriptor.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    guard try file.identity().isRegularFile else { return }
    let files = SystemFiles()
    let header = try Self.read(files, file.number, 0, Int(Self.headerLength))
    guard header.count == Self.headerLength, let sum = Checksum(magic: header.word(0)) else { return }
    var checksum = sum
    let pageSize = Int(header.word(8))
    checksum.add(header[..<24])
    guard (512...65_536).contains(pageSize), checksum.matches(header, at: 24) else { return }
    var position = Self.headerLength
    var uncommitted: Set<Int64> = []
    while true {
      let frame = try Self.read(files, file.number, position, Self.frameHeaderLength + pageSize)
      // The salts of the log's beginning: what lies behind its end is of an earlier one.
      guard frame.count == Self.frameHeaderLength + pageSize, frame[8..<16].elementsEqual(header[16..<24]) else {
        return
      }
      checksum.add(frame[..<8])
      checksum.add(frame[Self.frameHeaderLength...])
      guard checksum.matches(frame, at: 16) else { return }
      position += Int64(frame.count)
      if Int64(frame.word(0)) > offset { uncommitted.insert(Int64(frame.word(0))) }
      guard frame.word(4) > 0 else { continue }
      pageCount = Int64(frame.word(4))
      pages.formUnion(uncommitted)
      uncommitted = []
    }
  }

  /// Fewer bytes only at the end of the file.
  private static func read(
    _ files: SystemFiles, _ file: Int32, _ offset: Int64, _ count: Int
  ) throws(SystemCallError) -> [UInt8] {
    try withUnsafeTemporaryAllocation(byteCount: count, alignment: 16) { buffer throws(SystemCallError) in
      var done = 0
      while done < count {
        let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
        let more = try files.read(rest, from: file, at: offset + Int64(done))
        if more == 0 { break }
        done += more
      }
      return Array(buffer[..<done])
    }
  }

  /// Over words in the order of bytes that the log's first word names.
  private struct Checksum {
    private let isBigEndian: Bool
    private var first: UInt32 = 0
    private var second: UInt32 = 0

    init?(magic: UInt32) {
      guard magic & ~1 == 0x377f_0682 else { return nil }
      isBigEndian = magic & 1 == 1
    }

    mutating func add(_ bytes: ArraySlice<UInt8>) {
      bytes.withUnsafeBytes { bytes in
        for offset in stride(from: 0, to: bytes.count - 7, by: 8) {
          first &+= word(bytes, offset) &+ second
          second &+= word(bytes, offset + 4) &+ first
        }
      }
    }

    private func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
      let word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
      return isBigEndian ? UInt32(bigEndian: word) : UInt32(littleEndian: word)
    }

    func matches(_ bytes: [UInt8], at offset: Int) -> Bool {
      first == bytes.word(offset) && second == bytes.word(offset + 4)
    }
  }
}

extension [UInt8] {
  /// Four bytes, the highest first, as SQLite writes numbers.
  func word(_ offset: Int) -> UInt32 { self[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) } }
}
