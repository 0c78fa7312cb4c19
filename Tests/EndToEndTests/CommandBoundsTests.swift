import Foundation
import TestSupport
import Testing

/// What is too much, too little or not there, said in one sentence before anything of a plugin runs.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct CommandBoundsTests {
  private static let abs = ["call", "libc.so.6", "abs", "i32(i32)", "-5"]

  private static func file(_ bytes: Int, suffix: String) throws -> String {
    try Workspace.temporaryFile(String(repeating: "\0", count: bytes), suffix: suffix)
  }

  /// One line on standard error, with its exit status and nothing on standard output.
  private static func expect(_ status: Int32, _ sentence: String, _ arguments: [String], program: String? = nil) throws
  {
    let end = try Workspace.run(arguments, program: program ?? Workspace.outrider)
    #expect(end.status == status && end.output.isEmpty, "\(end)")
    #expect(end.errors.contains(sentence) && end.errors.split(separator: "\n").count == 1, "\(end)")
  }

  @Test func filesThatAreTooLong() throws {
    let much = try Self.file((1 << 20) + 1, suffix: ".yaml")
    let bundle = FileManager.default.temporaryDirectory.path + "/outrider-\(UUID()).appex"
    try FileManager.default.createDirectory(atPath: bundle, withIntermediateDirectories: true)
    try FileManager.default.copyItem(atPath: much, toPath: bundle + "/Info.plist")
    defer { for path in [much, bundle] { try? FileManager.default.removeItem(atPath: path) } }
    try Self.expect(66, "Info.plist: more than 1 MiB", ["inspect", bundle])
    try Self.expect(64, "more than 1 MiB", Self.abs + ["--policy", much])
    // What the plugin's memory couldn't hold isn't read.
    let argument = try Self.file((8 << 20) + 1, suffix: ".bin")
    defer { try? FileManager.default.removeItem(atPath: argument) }
    try Self.expect(
      64, "more than 8 MiB", ["call", "libz.so.1", "crc32", "u64(u64,bytes,u32)", "0", "@\(argument)", "5"])
  }

  @Test(
    "what has no digest is named with the reason",
    arguments: [
      ("/nonexistent", "No such file or directory"), ("/", "Is a directory"), ("/dev/null", "isn't a regular file"),
    ])
  func digest(path: String, reason: String) throws {
    try Self.expect(66, "\(path): \(reason)", ["digest", path])
  }

  @Test("an empty file has a digest and no chunks, and a pipe is read to its end") func digestOfAny() throws {
    let (empty, zeros) = (try Self.file(0, suffix: ".bin"), try Self.file(100_000, suffix: ".bin"))
    defer { for path in [empty, zeros] { try? FileManager.default.removeItem(atPath: path) } }
    let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    #expect(try Workspace.run(["digest", empty]).output.contains(nothing))
    let stored = try Workspace.run(["digest", zeros, "--chunk-size", "64KiB"]).output
    let script = "cat \"$1\" | \"$0\" digest /dev/stdin --chunk-size 64KiB"
    let piped = try Workspace.run(["-c", script, Workspace.outrider, zeros], program: "/bin/sh").output
    #expect(piped == stored && stored.contains("sha256"), "\(piped)")
  }

  @Test(
    "a working directory that can't be named is the reason, and not the file",
    arguments: [
      ("touch t.so", "the working directory has no usable name; name an absolute path"),
      ("rmdir \"$d\"", "the working directory is gone; go to another one, or name an absolute path"),
    ])
  func workingDirectory(step: String, reason: String) throws {
    let folder = NSTemporaryDirectory() + "outrider-bytes-\(UUID().uuidString)"
    // Foundation can't name what is in it.
    defer { _ = try? Workspace.run(["-rf", folder], program: "/bin/rm") }
    let script = """
      d="$1/$(printf 'x\\351')" && mkdir -p "$d" && cd "$d" && \(step) && exec "$0" call ./t.so abs 'i32(i32)' -5
      """
    try Self.expect(66, "./t.so: \(reason)", ["-c", script, Workspace.outrider, folder], program: "/bin/sh")
  }

  @Test(
    "where an archive can't be unpacked to be checked, TMPDIR is named, and not the archive",
    arguments: ["none", "file", "full"])
  func bundleCheck(place: String) throws {
    let folder = FileManager.default.temporaryDirectory.path + "/outrider-\(UUID())"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder + "/full", withIntermediateDirectories: true)
    let script = """
      cd "$1" && mount -t tmpfs -o size=64k none full && touch file && mkdir A.app \\
        && head -c 1000000 /dev/zero >A.app/A && tar -cf a.tar A.app && TMPDIR="$1/$2" exec "$0" bundle check a.tar
      """
    try Self.expect(
      73, "TMPDIR (\(folder)/\(place)): no archive can be unpacked there to be checked",
      ["-rm", "/bin/sh", "-c", script, Workspace.outrider, folder, place], program: "/usr/bin/unshare")
  }

  @Test func policiesThatGrantWhatThereIsNot() throws {
    let policies = try [
      (66, "/nonexistent/x, which the policy grants under 'read': No such file", "read: [/nonexistent/x]"),
      (66, "/nonexistent/y, which the policy grants under 'write': No such file", "write: [/nonexistent/y]"),
      (64, "/, which the policy grants under 'read', is everything", "read: [/]"),
      (64, "/lib, which the policy grants under 'write', is the runtime's", "write: [/lib]"),
      (64, "shows every process of the machine; name the file", "read: [/proc]"),
      (64, "shows what a process of the machine is", "read: [/proc/self]"),
      (64, "shows what a process of the machine is", "write: [/proc/1/task]"),
      (64, "would lie over /dev/null and /dev/urandom", "read: [/dev]"),
      (64, "/proc/self/root, which the policy grants under 'read', leads to /", "read: [/proc/self/root]"),
      (64, "/proc/self/fd/0, which the policy grants under 'read', shows what a process", "read: [/proc/self/fd/0]"),
      (64, "/dev/stdin, which the policy grants under 'read', leads to /proc/self/fd/0, which", "read: [/dev/stdin]"),
      (64, "/dev/stdout, which the policy grants under 'write', leads to /proc/self/fd/1", "write: [/dev/stdout]"),
      // Whether or not anything is open there.
      (64, "/dev/fd/99, which the policy grants under 'read', leads to /proc/self/fd/99", "read: [/dev/fd/99]"),
      (64, "/dev/pts, which the policy grants under 'write', holds terminals alone", "write: [/dev/pts]"),
      (64, "/tmp, which the policy grants under 'read', is where a plugin has something of its own", "read: [/tmp]"),
      (64, "limits.openFiles", "limits: {openFiles: 99999999}"),
      (64, "the filter never denies getpid", "onDenied: {getpid: kill}"),
    ].map { (Int32($0.0), $0.1, try Workspace.temporaryFile("version: 1\n\($0.2)\n", suffix: ".yaml")) }
    defer { for policy in policies { try? FileManager.default.removeItem(atPath: policy.2) } }
    for (status, sentence, policy) in policies {
      try Self.expect(status, sentence, Self.abs + ["--policy", policy])
    }
  }

  @Test(
    "without /proc no program takes its command line for an empty one",
    arguments: [
      "outrider --help", "outrider policy test /nonexistent.test.yaml", "outrider call libc.so.6 abs 'i32(i32)' -5",
      "outriderd --help",
    ])
  func withoutProcessFiles(command: String) throws {
    try Self.expect(
      70, "no /proc is mounted here",
      ["-rm", "/bin/sh", "-c", "mount -t tmpfs none /proc && exec \(Workspace.products)/\(command)"],
      program: "/usr/bin/unshare")
  }

  @Test("a /dev without /dev/null is what is named, and not the runner") func withoutDevices() throws {
    let command = ([Workspace.outrider] + Self.abs).map { "'\($0)'" }.joined(separator: " ")
    try Self.expect(
      70, "there is no /dev/null here", ["-rm", "/bin/sh", "-c", "mount -t tmpfs none /dev && exec \(command)"],
      program: "/usr/bin/unshare")
  }

  @Test("a container is no folder of the machine's", arguments: ["/proc", "/sys/kernel", "/usr/lib"])
  func containers(path: String) throws {
    try Self.expect(64, "the container \(path)", Self.abs + ["--container", path])
  }

  @Test func moreOpenFilesThanTheUserMayHave() throws {
    let policy = try Workspace.temporaryFile("version: 1\nlimits: {openFiles: 200}\n", suffix: ".yaml")
    defer { try? FileManager.default.removeItem(atPath: policy) }
    let command = ([Workspace.outrider] + Self.abs + ["--policy", policy]).map { "'\($0)'" }.joined(separator: " ")
    try Self.expect(
      64, "openFiles is 200, but this user may have at most 150", ["-c", "ulimit -n 150; exec \(command)"],
      program: "/bin/sh")
  }

  /// A stricter limit of the caller's own is the plugin's too, and no wall is missing for it.
  @Test(arguments: ["ulimit -f 1", "ulimit -n 100", "ulimit -t 5"]) func lowerLimitsOfTheCaller(limit: String) throws {
    let command = ([Workspace.outrider] + Self.abs).map { "'\($0)'" }.joined(separator: " ")
    let end = try Workspace.run(["-c", "\(limit); exec \(command)"], program: "/bin/sh")
    #expect(end.status == 0 && end.output == "5\n", "\(end)")
  }

  /// The fork server writes to /proc, which such a limit counts, too.
  @Test(arguments: ["0", "4", "511"]) func shorterFilesThanTheForkServerTakes(bytes: String) throws {
    try Self.expect(
      70, "may not write files of 512 bytes (ulimit -f)", ["--fsize=\(bytes)", Workspace.outrider] + Self.abs,
      program: "/usr/bin/prlimit")
    guard bytes == "0" else { return }
    let command = ([Workspace.outrider] + Self.abs).map { "'\($0)'" }.joined(separator: " ")
    try Self.expect(
      70, "may not write files of 512 bytes (ulimit -f)", ["-c", "ulimit -f 0; exec \(command)"], program: "/bin/bash")
  }

  /// This process alone has more.
  @Test(.enabled(if: geteuid() != 0, "root has no limit of processes"), arguments: [1, 6])
  func moreThreadsThanTheUserMayHave(most: Int) throws {
    try Self.expect(
      70, "(ulimit -u, pids.max)", ["--nproc=\(most)", Workspace.outrider] + Self.abs, program: "/usr/bin/prlimit")
  }

  @Test("too small a stack is told, and a limit of files is no fault of the volume") func smallLimits() throws {
    try Self.expect(70, "(ulimit -s)", ["--stack=65536", Workspace.outrider] + Self.abs, program: "/usr/bin/prlimit")
    try Self.expect(
      70, "(ulimit -s)", ["--stack=65536", Workspace.products + "/outriderd", "--help"], program: "/usr/bin/prlimit")
    let state = NSTemporaryDirectory() + "outrider-fsize-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: state) }
    try Self.expect(
      73, "files of 4096 bytes at most (ulimit -f)",
      ["--fsize=4096", Workspace.outrider, "fetch", "http://127.0.0.1:9/a", "--state", "\(state)/s", "--to", state],
      program: "/usr/bin/prlimit")
  }

  /// What is remembered of the limits is too long for such a file, and leaves nothing behind; what others left goes.
  @Test func aNoteThatCantBeWrittenLeavesNothing() throws {
    let runtime = NSTemporaryDirectory() + "outrider-runtime-\(UUID().uuidString)"
    let folder = runtime + "/outrider"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: runtime) }
    func names(after limit: String) throws -> [String] {
      let command = ([Workspace.outrider] + Self.abs).map { "'\($0)'" }.joined(separator: " ")
      let end = try Workspace.run(
        ["-c", "\(limit); exec \(command)"], program: "/bin/sh", environment: ["XDG_RUNTIME_DIR": runtime])
      #expect(end.status == 0 && end.output == "5\n", "\(end)")
      return try FileManager.default.contentsOfDirectory(atPath: folder)
    }
    #expect(try names(after: "ulimit -f 1").isEmpty)
    try Data().write(to: URL(fileURLWithPath: folder + "/limits-1"))
    #expect(try names(after: "true") == ["limits"])
  }

  /// A host that couldn't go on with the memory that it may have says so before it begins, and never hangs. `-d` counts the
  /// stacks of threads, `-v` what is only reserved as well.
  @Test(arguments: [
    "-d 30000", "-d 50000", "-d 70000", "-d 90000", "-d 110000", "-d 130000", "-d 200000", "-v 200000", "-v 250000",
    "-v 300000", "-v 500000", "-v 1000000",
  ])
  func lessMemoryThanTheHostTakes(limit: String) throws {
    let command = ([Workspace.outrider] + Self.abs).map { "'\($0)'" }.joined(separator: " ")
    let end = try Workspace.run(["-c", "ulimit \(limit); exec timeout -s KILL 20 \(command)"], program: "/bin/sh")
    #expect(end.status == 0 && end.output == "5\n" || end.status == 70 && end.output.isEmpty, "\(end)")
    #expect(end.status == 0 || end.errors.split(separator: "\n").count == 1, "\(end)")
  }

  /// Its relocations alone write a dozen pages.
  @Test(arguments: ["4KiB", "16KiB"]) func lessMemoryThanLoadingTakes(memory: String) throws {
    let library = Workspace.root + "/Plugins/.build/release/libSessionsDownloader.so"
    let end = try Workspace.run(["call", library, "main", "i32(i32,pointer)", "0", "0", "--memory", memory])
    #expect(end.status == 14 && end.errors.contains("memoryExceeded: "), "\(end)")
  }

  /// These are answered in the kernel, without the host; a policy may want them to end a run all the same.
  @Test(arguments: ["clone3", "socket"]) func whatTheFilterAnswersCanEndARun(call: String) throws {
    let policy = try Workspace.temporaryFile("version: 1\nonDenied: {\(call): kill}\n", suffix: ".yaml")
    defer { try? FileManager.default.removeItem(atPath: policy) }
    let function =
      call == "clone3"
      ? ["\(Workspace.hostile)/libhostile.so", "h73_scribble", "i32(out(64))"]
      : ["libc.so.6", "socket", "i32(i32,i32,i32)", "1", "1", "0"]
    let end = try Workspace.run(["call"] + function + ["--policy", policy])
    #expect(end.status == 15 && end.errors.contains("policyViolation: \(call)"), "\(end)")
    #expect(try Workspace.run(["call"] + function).status == 0)
  }
}
