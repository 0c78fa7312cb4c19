internal import Glibc
internal import LinuxSystem
internal import Synchronization

/// What ldconfig(8) found where the system's libraries lie: paths by names.
///
/// The file has a header of 48 bytes, then entries of 24 (flags, name, path, …) with offsets from its start. It is searched as
/// it is: a host looks up a few of its hundreds of names. All in it is checked, since what can't be read is just not found.
struct LoaderCache: Sendable {
  private let bytes: [UInt8]
  private let count: Int

  private static let magic = "glibc-ld.so.cache"
  private static let header = 48
  private static let entry = 24
  private static let longest = 16 << 20
  /// x86-64 ELF and AArch64 (`flags`).
  private static let machines: [UInt32] = [0x0303, 0x0a03]

  /// Finds nothing in anything else than such a file.
  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    let isCache = bytes.count >= Self.header && bytes.starts(with: Self.magic.utf8)
    let claimed = isCache ? bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 20, as: UInt32.self) } : 0
    count = isCache ? min(Int(claimed), (bytes.count - Self.header) / Self.entry) : 0
  }

  /// Of this machine, as it is now: read anew where it was replaced.
  static var current: LoaderCache {
    let path = "/etc/ld.so.cache"
    let identity = try? Files.identity(of: path)
    return known.withLock { known in
      if let known, known.identity == identity { return known.cache }
      let file = try? OwnedDescriptor.open(path, O_RDONLY)
      let cache = LoaderCache((try? file?.readAll(limit: longest)) ?? [])
      known = (identity, cache)
      return cache
    }
  }

  private static let known = Mutex<(identity: FileIdentity?, cache: LoaderCache)?>(nil)

  /// Where libraries of exactly that name lie, in the order in which the loader prefers them.
  func paths(of name: String) -> [String] {
    var wanted = Array(name.utf8)
    wanted.append(0)
    return bytes.withUnsafeBytes { file in
      var found: [String] = []
      for index in 0..<count {
        let start = Self.header + index * Self.entry
        let place = Int(file.loadUnaligned(fromByteOffset: start + 4, as: UInt32.self))
        guard place <= file.count - wanted.count, let base = file.baseAddress,
          memcmp(base + place, wanted, wanted.count) == 0,
          Self.machines.contains(file.loadUnaligned(fromByteOffset: start, as: UInt32.self)),
          let path = Self.text(file, Int(file.loadUnaligned(fromByteOffset: start + 8, as: UInt32.self)))
        else { continue }
        found.append(path)
      }
      return found
    }
  }

  private static func text(_ file: UnsafeRawBufferPointer, _ start: Int) -> String? {
    guard start < file.count, let base = file.baseAddress else { return nil }
    let rest = min(file.count - start, Int(PATH_MAX))
    guard let end = memchr(base + start, 0, rest) else { return nil }
    let text = UnsafeRawBufferPointer(start: base + start, count: UnsafeRawPointer(end) - (base + start))
    return String(decoding: text, as: UTF8.self)
  }
}
