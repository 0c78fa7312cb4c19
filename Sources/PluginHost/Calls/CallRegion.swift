internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem

/// Owns the memory that the host shares with one runner. Its pages are the host's: it fills what the two are to use before the
/// runner does, and what the runner fills beyond counts as the plugin's.
///
/// @unchecked Sendable: what it points to is shared with another process anyway, and read by the rules of `CallLink`.
struct CallRegion: ~Copyable, @unchecked Sendable {
  static let area = Int(OL_REGION_AREA)
  private static let words = Int(OL_REGION_WORDS)
  /// What is filled at once, so that answers a little longer than the last don't cost a system call each.
  private static let step = 64 << 10

  private var file: DescriptorSlot
  private let start: UnsafeMutableRawPointer
  /// By which it is told from shared memory of the plugin's.
  let inode: UInt64
  private var filledQuestions = 0
  private var filledAnswers = 0
  /// Bytes that it takes because of the host.
  private var hostBytes = 0

  private init(_ file: consuming OwnedDescriptor, _ start: UnsafeMutableRawPointer, inode: UInt64) {
    self.start = start
    self.inode = inode
    self.file = DescriptorSlot(file)
  }

  /// nil where this process may make no file as long as that.
  static func make() throws(SystemCallError) -> CallRegion? {
    var descriptor: Int32 = -1
    let code = ol_region_create(Int(OL_REGION_BYTES), &descriptor)
    if code == EFBIG { return nil }
    guard code == 0 else { throw SystemCallError("memfd_create", code: code, subject: "memory for calls") }
    let file = OwnedDescriptor(taking: descriptor)
    let inode = try file.identity().inode
    var start: UnsafeMutableRawPointer?
    try check("mmap", "memory for calls") { ol_region_map(descriptor, Int(OL_REGION_BYTES), &start) }
    guard let start else { throw SystemCallError("mmap", code: ENOMEM, subject: "memory for calls") }
    var region = CallRegion(file, start, inode: inode)
    try check("fallocate", "memory for calls") { ol_region_fill(descriptor, 0, words) }
    region.hostBytes = words
    guard region.fill(questions: PlacedData.payloadRoom, answers: PlacedData.payloadRoom) else {
      throw SystemCallError("fallocate", code: ENOMEM, subject: "memory for calls")
    }
    // The kernel may have given more at once. No other process has it yet.
    region.hostBytes = max(region.hostBytes, region.used)
    return region
  }

  deinit { munmap(start, Int(OL_REGION_BYTES)) }

  var pointer: UnsafeMutablePointer<ol_words> { start.assumingMemoryBound(to: ol_words.self) }
  var questions: UnsafeMutableRawPointer { start + Self.words }
  var answers: UnsafeMutableRawPointer { start + Self.words + Self.area }

  /// For the runner.
  func duplicate() throws(SystemCallError) -> OwnedDescriptor {
    let number = file.number
    return OwnedDescriptor(taking: try checkErrno("fcntl", "memory for calls") { fcntl(number, F_DUPFD_CLOEXEC, 3) })
  }

  /// Makes so many bytes of each area ready, as the host's own. False where there is no memory, or the area is shorter.
  mutating func fill(questions: Int, answers: Int) -> Bool {
    guard let more = fill(questions, beyond: filledQuestions, at: Self.words) else { return false }
    filledQuestions += more
    hostBytes += more
    guard let more = fill(answers, beyond: filledAnswers, at: Self.words + Self.area) else { return false }
    filledAnswers += more
    hostBytes += more
    return true
  }

  /// How many bytes more there are then.
  private func fill(_ count: Int, beyond filled: Int, at offset: Int) -> Int? {
    guard count <= Self.area else { return nil }
    guard count > filled else { return 0 }
    let end = filled == 0 ? count : min((count + Self.step - 1) / Self.step * Self.step, Self.area)
    guard !file.isEmpty, ol_region_fill(file.number, offset + filled, end - filled) == 0 else { return nil }
    return end - filled
  }

  private var used: Int {
    var bytes: UInt64 = 0
    return ol_region_used(file.number, &bytes) == 0 ? Int(clamping: bytes) : 0
  }

  /// What the plugin has filled of it without being asked. `all`: what the whole takes.
  var share: (all: Int, plugins: Int) {
    guard !file.isEmpty else { return (0, 0) }
    let all = used
    return (all, max(all - hostBytes, 0))
  }

  /// The run is over. A thread that still reads the memory sees zeros.
  mutating func free() {
    ol_region_free(start, Int(OL_REGION_BYTES))
    file.empty()
  }
}
