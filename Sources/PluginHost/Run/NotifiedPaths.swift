internal import AssetModel
internal import Basics
internal import CLinux
internal import Glibc
internal import LinuxSystem
internal import Sandbox

/// Reads which files one notified call names, from the memory of the thread that waits in it. For the report alone: another
/// thread may change them before the kernel reads them.
struct NotifiedPaths {
  let listener: Int32
  let call: ol_notification
  /// How the plugin sees files; its process has one root.
  let view: FileView

  /// The number names a thread of our runner as long as the notification is valid.
  private var isValid: Bool { ol_seccomp_is_valid(listener, call.id) == 0 }

  /// The file whose code a denied mmap(2) wanted; nil: it wanted none of a file, or an ordinary user's run doesn't observe
  /// files. Another thread may have changed what the descriptor is, which only changes what the report says.
  var codeFile: String? {
    guard call.arguments.2 & UInt64(PROT_EXEC) != 0, call.arguments.3 & CallFlags.anonymous == 0,
      let path = Files.link("/proc/\(call.pid)/fd/\(Int32(truncatingIfNeeded: call.arguments.4))"), path.isAbsolutePath,
      isValid
    else { return nil }
    return path
  }

  /// What a call names and doesn't get.
  struct Refusal {
    var path: String
    /// Whether that is because it would have been written, or was asked about for that.
    var writes: Bool
    /// Whether a link at the end of the path was meant itself.
    var namesLink = false
    /// Whether it would have been read, too (O_RDWR).
    var readsToo = false
    /// Whether it was asked if it may be executed.
    var asksToExecute = false
  }

  /// Nil: the plugin gets there.
  func refused(_ name: String, _ argument: SystemCalls.PathArgument) -> Refusal? {
    guard let named = path(argument) ?? held(name, argument), named.isAbsolutePath else { return nil }
    let flags = openFlags(of: name)
    let followsLast = SystemCalls.followsLast(name, values)
    let path = view.destination(of: named, followsLast: followsLast)
    let holdsPlace = flags.map { SystemCalls.holdsPlace(flags: $0) } ?? false
    let mode = SystemCalls.accessMode(of: name, values)
    let isRefused = view.refuses(
      path, to: holdsPlace ? "stat" : name, makesFile: flags.map { SystemCalls.makesFile(name, flags: $0) } ?? false,
      followsLast: followsLast)
    // Of two that are refused the file says more, unless it is another one while a link isn't there.
    if let missing = view.missing(on: path), missing.isLink || !isRefused {
      return Refusal(path: missing.path, writes: false, namesLink: true)
    }
    if isRefused {
      let first = SystemCalls.pathArguments(of: name).first
      let source =
        first == argument ? nil : first.flatMap { self.path($0) }.map { view.destination(of: $0, followsLast: false) }
      let changes = view.wouldChange(path, by: name, flags: flags, to: source)
      return Refusal(
        path: path, writes: changes || mode == SystemCalls.writing, namesLink: !followsLast,
        readsToo: changes && (flags.map { SystemCalls.readsAndWrites(flags: $0) } ?? false),
        asksToExecute: mode.map { $0 & SystemCalls.executable != 0 } ?? false)
    }
    let asks = mode.map { $0 & SystemCalls.writing != 0 } ?? false
    if name == "execve" { return interpreterRefused(of: path).map { Refusal(path: $0, writes: false) } }
    return view.refusesChange(path, by: name, flags: flags, asks: asks, followsLast: followsLast)
      .map { Refusal(path: $0, writes: true) }
  }

  /// Of scripts that are interpreted by scripts (execve(2)).
  private static let maxInterpreters = 5

  /// What starts a program that may be executed, and may not be itself: the kernel says that the program isn't there.
  private func interpreterRefused(of path: String) -> String? {
    guard let root = try? OwnedDescriptor.open("/proc/\(call.pid)/root", ol_open_path | O_DIRECTORY), isValid else {
      return nil
    }
    var path = path
    for _ in 0..<Self.maxInterpreters {
      guard let head = Self.head(of: path, root), let next = ProgramHead.interpreter(head), next.isAbsolutePath else {
        return nil
      }
      path = view.destination(of: next, followsLast: true)
      if view.refuses(path, to: "execve") { return path }
    }
    return nil
  }

  /// Nothing but a regular file is opened for reading: what that does to a FIFO or a device, others see.
  private static func head(of path: String, _ root: borrowing OwnedDescriptor) -> [UInt8]? {
    var number: Int32 = -1
    guard ol_open_in_root(root.number, path, ol_open_path, &number) == 0 else { return nil }
    let found = OwnedDescriptor(taking: number)
    guard let identity = try? found.identity(), identity.isRegularFile,
      let file = try? OwnedDescriptor.open("/proc/self/fd/\(found.number)", O_RDONLY)
    else { return nil }
    return try? file.readAll(limit: ProgramHead.length)
  }

  /// What of the plugin's view holds the path.
  func holder(_ name: String, _ argument: SystemCalls.PathArgument) -> String? {
    guard let named = path(argument) ?? held(name, argument), named.isAbsolutePath else { return nil }
    let followsLast = SystemCalls.followsLast(name, values)
    return view.holder(of: view.destination(of: named, followsLast: followsLast), followsLast: followsLast)
  }

  /// What of it holds the folders that the path leads through before each `..`.
  func holdersOnTheWay(_ argument: SystemCalls.PathArgument) -> [String] {
    guard let named = path(argument), named.isAbsolutePath else { return [] }
    return view.holdersOnTheWay(to: named)
  }

  /// Of a call that may make a file.
  func openFlags(of name: String) -> UInt64? {
    SystemCalls.modeArgument(of: name).map { name == "creat" ? 0 : value($0 - 1) }
  }

  /// What the plugin wrote there.
  func given(_ argument: SystemCalls.PathArgument) -> String? {
    argument.path.flatMap { text(at: value(UInt32($0))) }
  }

  /// Where a connect(2) leads; nil: to no address, or it can't be read.
  var connection: ConnectionAttempt? {
    // What ends with an address of version 6 is as long as that.
    let count = min(Int(truncatingIfNeeded: value(2) & 0xffff_ffff), 28)
    guard count > 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: count)
    guard ol_read_remote_bytes(pid_t(call.pid), value(1), &bytes, count) == 0, isValid else { return nil }
    return ConnectionAttempt(socketAddress: bytes)
  }

  /// All six, as the registers had them.
  var values: [UInt64] {
    let values = call.arguments
    return [values.0, values.1, values.2, values.3, values.4, values.5]
  }

  private func value(_ index: UInt32) -> UInt64 {
    withUnsafeBytes(of: call.arguments) { $0.load(fromByteOffset: Int(index) * 8, as: UInt64.self) }
  }

  /// From the root of the runner's view, as far as that can be told.
  private func path(_ argument: SystemCalls.PathArgument) -> String? {
    guard let path = given(argument), !path.isEmpty else { return nil }
    if path.isAbsolutePath { return path }
    // The kernel reads the low half of a descriptor.
    let folder = argument.folder.map { Int32(truncatingIfNeeded: value(UInt32($0))) } ?? AT_FDCWD
    let name = folder == AT_FDCWD ? "cwd" : "fd/\(folder)"
    guard let start = Files.link("/proc/\(call.pid)/\(name)"), start.isAbsolutePath, isValid else { return path }
    return "\(start == "/" ? "" : start)/\(path)"
  }

  /// What the descriptor has open, where the call means that.
  private func held(_ name: String, _ argument: SystemCalls.PathArgument) -> String? {
    guard let folder = argument.folder, SystemCalls.meansDescriptor(name, values) else { return nil }
    let descriptor = Int32(truncatingIfNeeded: value(UInt32(folder)))
    // One that only holds a place changes nothing (open(2), O_PATH).
    guard descriptor >= 0, let path = Files.link("/proc/\(call.pid)/fd/\(descriptor)"),
      let flags = Files.openFlags("/proc/\(call.pid)/fdinfo/\(descriptor)"), !SystemCalls.holdsPlace(flags: flags),
      isValid
    else { return nil }
    return path
  }

  private func text(at address: UInt64) -> String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
      guard let start = buffer.baseAddress,
        ol_read_remote_string(pid_t(call.pid), address, start, buffer.count) == 0, isValid
      else { return nil }
      return String(decoding: UnsafeRawBufferPointer(start: start, count: strlen(start)), as: UTF8.self)
    }
  }
}
