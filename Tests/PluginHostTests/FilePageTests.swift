import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

@testable import PluginHost

/// The file pages that a host brings in for its runners.
@Suite(.timeLimit(.minutes(1))) struct FilePageTests {
  @Test func mapsAreRead() {
    let maps = """
      00400000-00452000 r-xp 00001000 08:02 173521      /usr/lib/libz.so.1
      7f0000000000-7f0000400000 r--s 00000000 fe:00 77  /data/big file.bin
      7f0000400000-7f0000401000 rw-p 00000000 00:00 0
      7f0000401000-7f0000402000 rw-s 00000000 00:01 5   /dev/zero (deleted)
      7ffc00000000-7ffc00001000 rw-p 00000000 00:00 0   [stack]
      7f0000402000-7f0000403000 r--p 00002000 fe:00 9   /a\\012b
      7f0000403000-7f0000402000 r--p 00000000 fe:00 9   /backwards
      x-y r--p z fe:00 9 /nonsense
      """
    #expect(
      MappedFile.all(in: maps) == [
        MappedFile(path: "/usr/lib/libz.so.1", inode: 173_521, offset: 0x1000, length: 0x52000),
        MappedFile(path: "/data/big file.bin", inode: 77, offset: 0, length: 4 << 20),
        MappedFile(path: "/a\nb", inode: 9, offset: 0x2000, length: 4096),
      ])
  }

  @Test(arguments: [
    ("/container/sub/x", "/home/me/group/sub/x"), ("/container", "/home/me/group"), ("/containers/x", "/containers/x"),
    ("/container/inner/x", "/srv/inner/x"), ("/usr/lib/libc.so.6", "/usr/lib/libc.so.6"),
  ])
  func placesOfTheView(_ path: String, _ expected: String) {
    let places = ViewPlaces([("/container", "/home/me/group"), ("/container/inner", "/srv/inner")])
    #expect(places.machinePath(of: path) == expected)
  }

  @Test func aTurnBeginsUnderPressureAlone() {
    var rule = PageInRule(hits: 10, faults: 100)
    let now = Duration.seconds(5)
    #expect(!rule.isPressed(hits: 10, at: now))
    // A file that is read from end to end keeps the cgroup at its limit, and no load waits twice for a page.
    let reading = rule.begins(hits: 11, faults: 100, at: now)
    let waiting = rule.begins(hits: 12, faults: 104, at: now)
    let meanwhile = rule.begins(hits: 13, faults: 200, at: now)
    #expect(!reading && waiting && !meanwhile)
    rule.ended(after: .seconds(4), at: now)
    let tooSoon = rule.begins(hits: 14, faults: 300, at: now + .milliseconds(999))
    let again = rule.begins(hits: 14, faults: 300, at: now + .seconds(1))
    #expect(!tooSoon && again)
  }

  /// However often a plugin asks, its turns end.
  @Test func turnsAreBounded() {
    var rule = PageInRule(hits: 0, faults: 0)
    var now = Duration.zero
    var turns = 0
    for step in 1...1000 {
      now += .seconds(1)
      guard rule.begins(hits: step, faults: step * 100, at: now) else { continue }
      turns += 1
      rule.ended(after: .milliseconds(500), at: now)
    }
    #expect(turns == 40)
  }

  @Test func whatALibraryNeedsIsRead() throws {
    let path = try #require(LibrarySearch.find("libm.so.6"))
    let file = try OwnedDescriptor.open(path, O_RDONLY)
    let size = UInt64(try file.identity().size)
    let outline = try #require(LibraryOutline(FileWindows(descriptor: file.number, count: size)))
    #expect(outline.needed.contains("libc.so.6"))
    #expect(outline.loaded.map(\.length).reduce(0, +) <= size && outline.loaded.count >= 2)
    #expect(LibraryOutline(FileWindows([UInt8](repeating: 7, count: 4096))) == nil)
    #expect(!LoaderCache.current.paths(of: "libm.so.6").isEmpty)
  }

  /// Whether all its pages are there. A read with RWF_NOWAIT would start a readahead, and so bring in what it asks about.
  private static func isCached(_ path: String) throws -> Bool {
    let file = try OwnedDescriptor.open(path, O_RDONLY)
    let size = Int(try file.identity().size)
    let memory = mmap(nil, size, PROT_READ, MAP_SHARED, file.number, 0)
    try #require(memory != MAP_FAILED)
    defer { munmap(memory, size) }
    var pages = [UInt8](repeating: 0, count: (size + 4095) / 4096)
    let result = mincore(memory, size, &pages)
    try #require(result == 0)
    return pages.allSatisfy { $0 & 1 == 1 }
  }

  private static func drop(_ path: String) throws {
    let file = try OwnedDescriptor.open(path, O_RDONLY)
    fsync(file.number)
    posix_fadvise(file.number, 0, 0, POSIX_FADV_DONTNEED)
  }

  /// A library, what it needs, and what that needs.
  @Test func aClosureIsBroughtIn() throws {
    let folder = try Files.temporaryDirectory(
      in: Files.isMemory("/tmp") ? "/var/tmp" : "/tmp", prefix: "outrider-test-")
    defer { Files.removeTree(folder) }
    var libraries: [String] = []
    for (index, name) in ["third", "second", "first"].enumerated() {
      try "const char \(name)[4 << 20] = {1};\n".write(
        toFile: "\(folder)/\(name).c", atomically: true, encoding: .utf8)
      let needed = index == 0 ? [] : ["-Wl,--no-as-needed", libraries[index - 1], "-Wl,-rpath,$ORIGIN"]
      let compiler = TestProcess()
      compiler.executableURL = URL(fileURLWithPath: "/usr/bin/cc")
      let path = "\(folder)/libcold-\(name).so"
      compiler.arguments =
        ["-shared", "-fPIC", "-Wl,-soname,libcold-\(name).so", "-o", path, "\(folder)/\(name).c"] + needed
      try compiler.run()
      compiler.waitUntilExit()
      libraries.append(path)
    }
    for library in libraries { try Self.drop(library) }
    try #require(try libraries.allSatisfy { !(try Self.isCached($0)) })
    PageReader(places: ViewPlaces([])).bringIn(closureOf: [libraries[2]])
    for library in libraries { #expect(try Self.isCached(library), "\(library)") }
  }

  @Test("what a library needs isn't looked for in folders that the machine has and the plugin doesn't see (H107)")
  func otherFoldersArentLookedInto() throws {
    let folder = try Files.temporaryDirectory(
      in: Files.isMemory("/tmp") ? "/var/tmp" : "/tmp", prefix: "outrider-test-")
    defer { Files.removeTree(folder) }
    for name in ["secret", "plugin"] { try Files.makeDirectories("\(folder)/\(name)", mode: 0o755) }
    func compile(_ name: String, _ options: [String]) throws {
      let compiler = TestProcess()
      compiler.executableURL = URL(fileURLWithPath: "/usr/bin/cc")
      compiler.arguments = ["-shared", "-fPIC", "-o", "\(folder)/\(name)", "-x", "c", "/dev/null"] + options
      try compiler.run()
      compiler.waitUntilExit()
      #expect(compiler.terminationStatus == 0)
    }
    try compile("secret/libsecret.so", [])
    try compile("plugin/libbeside.so.1", [])
    try compile(
      "plugin/libplugin.so",
      ["-Wl,--no-as-needed", "-Wl,-rpath,\(folder)/secret", "-L\(folder)/secret", "-lsecret", "-L\(folder)/plugin"]
        + ["-l:libbeside.so.1"])
    for kind in ["runpath", "link"] {
      if kind == "link" { symlink("\(folder)/secret/libsecret.so", "\(folder)/plugin/libsecret.so") }
      let found = PageReader(places: ViewPlaces([])).bringIn(closureOf: ["\(folder)/plugin/libplugin.so"])
      #expect(try found.keys.contains(Files.identity(of: "\(folder)/plugin/libbeside.so.1")), "\(kind)")
      #expect(try !found.keys.contains(Files.identity(of: "\(folder)/secret/libsecret.so")), "\(kind)")
    }
  }

  @Test("a link to another name in a library's folder is followed, as systems name versions") func versionsAreFound()
    throws
  {
    let folder = try Files.temporaryDirectory(
      in: Files.isMemory("/tmp") ? "/var/tmp" : "/tmp", prefix: "outrider-test-")
    defer { Files.removeTree(folder) }
    let source = "-x c /dev/null".split(separator: " ").map(String.init)
    for (output, options) in [
      ("libcold.so.1.2", ["-Wl,-soname,libcold.so.1"]),
      ("libplugin.so", ["-Wl,--no-as-needed", "-L\(folder)", "-l:libcold.so.1.2"]),
    ] {
      let compiler = TestProcess()
      compiler.executableURL = URL(fileURLWithPath: "/usr/bin/cc")
      compiler.arguments = ["-shared", "-fPIC", "-o", "\(folder)/\(output)"] + source + options
      try compiler.run()
      compiler.waitUntilExit()
    }
    symlink("libcold.so.1.2", "\(folder)/libcold.so.1")
    let found = PageReader(places: ViewPlaces([])).bringIn(closureOf: ["\(folder)/libplugin.so"])
    #expect(try found.keys.contains(Files.identity(of: "\(folder)/libcold.so.1.2")))
  }

  /// What a process has mapped, and not what a link in its place leads to.
  @Test func mappedFilesAreBroughtIn() throws {
    let folder = try Files.temporaryDirectory(
      in: Files.isMemory("/tmp") ? "/var/tmp" : "/tmp", prefix: "outrider-test-")
    defer { Files.removeTree(folder) }
    for name in ["mapped", "secret"] {
      try Data(repeating: 7, count: 4 << 20).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
    }
    let file = try OwnedDescriptor.open("\(folder)/mapped", O_RDONLY)
    let memory = mmap(nil, 4 << 20, PROT_READ, MAP_SHARED, file.number, 0)
    defer { munmap(memory, 4 << 20) }
    for name in ["mapped", "secret"] { try Self.drop("\(folder)/\(name)") }
    // Without what else these tests have mapped: a turn takes ten seconds at most, and from a disk with a cold cache their own
    // program takes longer.
    let lines = try Files.text(of: "/proc/self/maps", limit: 1 << 20).split(separator: "\n")
    let own = lines.filter { $0.contains(folder) }
    try #require(!own.isEmpty)
    try own.joined(separator: "\n").write(toFile: "\(folder)/maps", atomically: true, encoding: .utf8)
    let maps = try OwnedDescriptor.open("\(folder)/maps", O_RDONLY)
    PageReader(places: ViewPlaces([])).bringIn(filesOf: maps)
    #expect(try Self.isCached("\(folder)/mapped") && !(try Self.isCached("\(folder)/secret")))
    try Self.drop("\(folder)/mapped")
    let places = ViewPlaces([("\(folder)/mapped", "\(folder)/link")])
    symlink("\(folder)/secret", "\(folder)/link")
    PageReader(places: places).bringIn(filesOf: maps)
    #expect(!(try Self.isCached("\(folder)/secret")))
  }
}
