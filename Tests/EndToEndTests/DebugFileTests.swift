import Foundation
import PolicyLab
import TestSupport
import Testing

/// Debug information that is compressed, or lies in a file of its own.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct DebugFileTests {
  private static let source = """
    struct pair { int a, b; };
    int answer(const char *name, unsigned long length) { return name[0]; }
    int crash(int n) { return *(volatile int *)(long)n; }
    """

  private static func run(_ command: String, in folder: String) throws {
    let end = try Workspace.run(["-c", "cd '\(folder)' && \(command)"], program: "/bin/bash")
    try #require(end.status == 0, "\(end)")
  }

  private static func folder(_ options: String = "", then command: String = "true") throws -> String {
    let folder = try LibraryTests.folder()
    try LibraryTests.compile(source, "-g \(options) -o a.so", in: folder)
    try run(command, in: folder)
    return folder
  }

  private static let prototype = "int answer(const char *name, unsigned long length)"

  @Test(
    "compressed sections are expanded inside the walls",
    arguments: ["objcopy --compress-debug-sections=zlib a.so", "objcopy --compress-debug-sections=zstd a.so"])
  func compressed(command: String) throws {
    let folder = try Self.folder(then: "\(command) && readelf -SW a.so | grep -E 'debug_info.* C '")
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let end = try Workspace.run(["explore", "\(folder)/a.so"])
    #expect(
      end.output.contains(Self.prototype)
        || end.output.contains("int answer(const char *name, long unsigned int length)"),
      "\(end)")
    #expect(end.output.contains("'i32(cstring,u64)' text 0"))
    let crash = try Workspace.run(["call", "\(folder)/a.so", "crash", "i32(i32)", "1"])
    #expect(crash.errors.contains("#0 crash at source.c:3"), "\(crash)")
  }

  @Test(
    "a file that debug information was moved to is found, and named",
    arguments: ["a.debug", ".debug/a.debug"], ["-Wl,--build-id", "-Wl,--build-id=none"])
  func separate(name: String, identifier: String) throws {
    let folder = try Self.folder(
      identifier,
      then: """
        mkdir .debug && objcopy --only-keep-debug a.so \(name) && objcopy --compress-debug-sections=zlib \(name) && strip -g a.so \\
          && objcopy --add-gnu-debuglink=\(name) a.so
        """)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let end = try Workspace.run(["explore", "\(folder)/a.so"])
    #expect(end.output.contains("'i32(cstring,u64)' text 0"), "\(end)")
    #expect(end.output.contains("debug file   \(folder)/\(name)\n"), "\(end)")
    let crash = try Workspace.run(["call", "\(folder)/a.so", "crash", "i32(i32)", "1"])
    #expect(crash.errors.contains("#0 crash at source.c:3"), "\(crash)")
  }

  @Test("the file of another build isn't believed", arguments: ["-Wl,--build-id", "-Wl,--build-id=none"])
  func another(identifier: String) throws {
    let folder = try Self.folder(
      identifier,
      then: "objcopy --only-keep-debug a.so a.debug && strip -g a.so && objcopy --add-gnu-debuglink=a.debug a.so")
    let other = try LibraryTests.folder()
    defer { for one in [folder, other] { try? FileManager.default.removeItem(atPath: one) } }
    try LibraryTests.compile("int answer(int a) { return a; }", "-g \(identifier) -o a.so", in: other)
    try Self.run("objcopy --only-keep-debug '\(other)/a.so' a.debug", in: folder)
    let end = try Workspace.run(["explore", "\(folder)/a.so"])
    #expect(end.status == 0 && !end.output.contains("debug file") && end.errors.contains("--header"), "\(end)")
  }

  @Test(
    "what only looks like such a file is left alone",
    arguments: ["mkfifo a.debug", "ln -s /dev/zero a.debug", "ln -s a.debug a.debug", "mkdir a.debug"])
  func odd(command: String) throws {
    let folder = try Self.folder(
      then: """
        objcopy --only-keep-debug a.so a.debug && strip -g a.so && objcopy --add-gnu-debuglink=a.debug a.so \\
          && rm a.debug && \(command)
        """)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let end = try Workspace.run(["explore", "\(folder)/a.so"])
    #expect(end.status == 0 && end.output.contains("answer\n") && !end.output.contains("debug file"), "\(end)")
  }

  @Test("a section that isn't what it says is left out, and told", arguments: [0, 8, 24, 40])
  func broken(offset: Int) throws {
    let folder = try Self.folder(then: "objcopy --compress-debug-sections=zlib a.so")
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let file = URL(fileURLWithPath: "\(folder)/a.so")
    let place = try Workspace.run(
      ["-c", "readelf -SW '\(folder)/a.so' | sed -nE 's/.*\\.debug_info +PROGBITS +[0-9a-f]+ ([0-9a-f]+).*/\\1/p'"],
      program: "/bin/bash")
    let start = try #require(Int(place.output.split(separator: "\n").first ?? "", radix: 16))
    var bytes = [UInt8](try Data(contentsOf: file))
    for index in 0..<4 { bytes[start + offset + index] ^= 0x55 }
    try Data(bytes).write(to: file)
    let end = try Workspace.run(["explore", "\(folder)/a.so"])
    #expect(end.status == 0 && !end.output.contains("const char *name"), "\(end)")
    #expect(end.errors.contains("its debug information is compressed"), "\(end)")
  }

  @Test("a build identifier, a link and a head that are cut short are left alone")
  func short() throws {
    let folder = try Self.folder(
      "-Wl,--build-id", then: "objcopy --compress-debug-sections=zlib a.so && objcopy --add-gnu-debuglink=a.so a.so")
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let good = [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(folder)/a.so")))
    func integer(_ at: Int, _ width: Int) -> Int { good[at..<at + width].reversed().reduce(0) { $0 << 8 | Int($1) } }
    let names = LibraryExploration(good).functions
    // Of each section the size alone (elf(5): 64 bytes each, the size at 32).
    for section in 0..<integer(60, 2) {
      let place = integer(40, 8) + section * 64 + 32
      for size in 0..<40 {
        var bytes = good
        bytes.replaceSubrange(place..<place + 8, with: [UInt8(size)] + Array(repeating: 0, count: 7))
        #expect(LibraryExploration(bytes).functions.count <= names.count)
      }
    }
  }
}
