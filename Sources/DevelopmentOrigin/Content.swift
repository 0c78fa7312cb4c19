internal import Basics
internal import Glibc
internal import Hashing
internal import LinuxSystem
internal import Synchronization

/// The bytes of one version of a resource. None are stored but those that were given.
public struct Content: Sendable {
  enum Source: Sendable {
    case bytes([UInt8])
    case repeating([UInt8], count: Int)
    case pseudoRandom(seed: UInt64, count: Int)
    case file(OpenFile)
  }

  let source: Source
  /// Equal for equal content, as far as that is known without reading files.
  let identity: String

  private init(_ source: Source, identity: String) {
    self.source = source
    self.identity = identity
  }

  public static func bytes(_ bytes: [UInt8]) -> Content {
    let digest = DigestAlgorithm.sha256.hash(bytes)
    let identity = Hexadecimal.text(digest.prefix(12))
    remember(digest, KnownDigest(identity: identity, algorithm: .sha256))
    return Content(.bytes(bytes), identity: identity)
  }

  public static func text(_ text: String) -> Content { bytes(Array(text.utf8)) }

  /// `pattern` over and over, `count` bytes in all.
  public static func repeating(_ pattern: [UInt8], count: Int) -> Content {
    let pattern = pattern.isEmpty ? [0] : pattern
    return Content(
      .repeating(pattern, count: count),
      identity: "p\(Hexadecimal.text(DigestAlgorithm.sha256.hash(pattern).prefix(8)))-\(count)")
  }

  /// `count` random bytes that depend on `seed` only.
  public static func pseudoRandom(seed: UInt64, count: Int) -> Content {
    Content(.pseudoRandom(seed: seed, count: count), identity: "r\(String(seed, radix: 16))-\(count)")
  }

  static func file(_ file: OpenFile) -> Content { Content(.file(file), identity: file.identityText) }

  public var count: Int {
    switch source {
    case .bytes(let bytes): bytes.count
    case .repeating(_, let count), .pseudoRandom(_, let count): count
    case .file(let file): file.count
    }
  }

  /// Fills the buffer with what stands at `offset`. Fewer bytes than it holds mean that a file has become shorter.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemCallError) -> Int {
    switch source {
    case .bytes(let bytes):
      let end = min(offset + buffer.count, bytes.count)
      guard offset < end else { return 0 }
      bytes.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<end])) }
      return end - offset
    case .repeating(let pattern, let count):
      let wanted = min(buffer.count, count - offset)
      if pattern.count == 1 {
        if let base = buffer.baseAddress { memset(base, Int32(pattern[0]), wanted) }
      } else {
        for index in 0..<wanted { buffer[index] = pattern[(offset + index) % pattern.count] }
      }
      return wanted
    case .pseudoRandom(let seed, let count):
      let wanted = min(buffer.count, count - offset)
      PseudoRandom.fill(UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), seed: seed, at: offset)
      return wanted
    case .file(let file):
      return try file.read(into: buffer, at: offset)
    }
  }

  /// False once a file was written to, or its times were set, since it was opened.
  var isUnchanged: Bool { if case .file(let file) = source { file.isUnchanged } else { true } }

  /// The bytes of a range, for comparisons in tests.
  public func bytes(in range: Range<Int>) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: range.count)
    let got = result.withUnsafeMutableBytes { (try? read(into: $0, at: range.lowerBound)) ?? 0 }
    return Array(result.prefix(got))
  }

  public var bytes: [UInt8] { bytes(in: 0..<count) }

  /// The digest of everything, read piece by piece, once as long as it is remembered. Any thread.
  public func digest(_ algorithm: DigestAlgorithm = .sha256) -> [UInt8] {
    let key = KnownDigest(identity: identity, algorithm: algorithm)
    if let known = Self.digests.withLock({ $0[key] }) { return known }
    let value = readDigest(algorithm)
    Self.remember(value, key)
    return value
  }

  private static func remember(_ digest: [UInt8], _ key: KnownDigest) {
    digests.withLock {
      if $0.count >= maxDigests { $0 = [:] }
      $0[key] = digest
    }
  }

  private struct KnownDigest: Hashable {
    var identity: String
    var algorithm: DigestAlgorithm
  }

  private static let digests = Mutex<[KnownDigest: [UInt8]]>([:])
  private static let maxDigests = 4096

  private func readDigest(_ algorithm: DigestAlgorithm) -> [UInt8] {
    var hasher = RunningHash(algorithm.function)
    var buffer = [UInt8](repeating: 0, count: min(max(count, 1), 1 << 18))
    var offset = 0
    while offset < count {
      let got = buffer.withUnsafeMutableBytes { bytes in
        let got = (try? read(into: bytes, at: offset)) ?? 0
        hasher.update(UnsafeRawBufferPointer(rebasing: bytes[..<got]))
        return got
      }
      if got == 0 { break }
      offset += got
    }
    return hasher.digest
  }

  /// Version `number` of something that has only one: as random as the first wasn't, `change` bytes longer.
  func altered(to number: Int, lengthChange change: Int) -> Content {
    .pseudoRandom(seed: PseudoRandom.mix(0x6f72_6967, identity, number), count: max(count + change, 0))
  }
}

/// A file that is being served.
final class OpenFile: Sendable {
  private let descriptor: OwnedDescriptor
  let count: Int
  let identityText: String
  let modified: Int
  private let identity: FileIdentity

  init(_ descriptor: consuming OwnedDescriptor, _ identity: FileIdentity) {
    self.identity = identity
    count = Int(identity.size)
    modified = Int(identity.modified / 1_000_000_000)
    // Any owner can set the time of the content; that of the inode can't be set.
    identityText = [
      identity.device, identity.inode, UInt64(bitPattern: identity.modified), UInt64(bitPattern: identity.changed),
      UInt64(bitPattern: identity.size),
    ]
    .map { String($0, radix: 16) }.joined(separator: "-")
    self.descriptor = descriptor
  }

  var number: Int32 { descriptor.number }

  var isUnchanged: Bool {
    guard let now = try? descriptor.identity() else { return false }
    return (now.size, now.modified, now.changed) == (identity.size, identity.modified, identity.changed)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemCallError) -> Int {
    try checkErrno("pread", "\(descriptor.number)") {
      pread(descriptor.number, buffer.baseAddress, buffer.count, off_t(offset))
    }
  }
}
