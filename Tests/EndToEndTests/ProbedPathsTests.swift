import Basics
import Foundation
import Glibc
import LinuxSystem
import PluginHost
import Sandbox
import TestSupport
import Testing

/// What a plugin is refused on random trees with links, and what of that the report has: recall and precision of `--observe`.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct ProbedPathsTests {
  /// OUTRIDER_SEED tries another.
  private static let seeds: [UInt64] =
    ProcessInfo.processInfo.environment["OUTRIDER_SEED"].flatMap { UInt64($0) }.map { [$0] } ?? [1, 2, 3, 4, 5, 6]

  /// Each path with one call: 0, or why not.
  private static let source = """
    #include <errno.h>
    #include <fcntl.h>
    #include <string.h>
    #include <sys/stat.h>
    #include <unistd.h>
    int probe(int call, const char *paths, unsigned char *results) {
      char path[512], target[512];
      struct stat status;
      int count = 0;
      for (const char *rest = paths; *rest; rest = strchr(rest, '\\n') + 1, count++) {
        size_t length = strchr(rest, '\\n') - rest;
        memcpy(path, rest, length);
        path[length] = 0;
        int result = -1;
        switch (call) {
          case 0: result = open(path, O_RDONLY | O_CLOEXEC); break;
          case 1: result = stat(path, &status); break;
          case 2: result = lstat(path, &status); break;
          case 3: result = access(path, F_OK); break;
          case 4: result = readlink(path, target, sizeof target); break;
        }
        results[count] = result < 0 ? errno : 0;
        if (call == 0 && result >= 0) close(result);
      }
      return count;
    }
    """

  /// The same calls outside of the walls.
  private static func succeeds(_ call: Int, _ path: String) -> Bool {
    var status = stat()
    switch call {
    case 0:
      let file = open(path, O_RDONLY | O_CLOEXEC)
      if file >= 0 { close(file) }
      return file >= 0
    case 1: return stat(path, &status) == 0
    case 2: return lstat(path, &status) == 0
    case 3: return access(path, F_OK) == 0
    default:
      return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { readlink(path, $0.baseAddress!, 512) } >= 0
    }
  }

  /// Folders, files, and links to any of them or out of the tree. Below `root`; the names that lead to something in it.
  private static func tree(_ root: String, _ random: inout SeededGenerator) throws -> [String] {
    var folders = [root, root + "/a", root + "/b", root + "/a/c", root + "/b/d"]
    for folder in folders { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }
    var names = folders
    for number in 0..<6 {
      let file = "\(folders[random.below(folders.count)])/f\(number)"
      try #require(FileManager.default.createFile(atPath: file, contents: Data("x".utf8)))
      names.append(file)
    }
    for number in 0..<7 {
      let folder = folders[random.below(folders.count)]
      var target =
        random.chance(5)
        ? ["/etc/hosts", "/usr/lib", "/etc", "nothing"][random.below(4)] : names[random.below(names.count)]
      if target.hasPrefix(root + "/"), random.chance(2) {
        let depth = folder.split(separator: "/").count - root.split(separator: "/").count
        target = String(repeating: "../", count: depth) + target.dropFirst(root.utf8.count + 1)
      }
      let link = "\(folder)/l\(number)"
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
      names.append(link)
      // Nothing is made in what a link out of the tree leads to, nor granted of it.
      if let real = try? Files.real(link), real.hasPrefix(root + "/"), Files.isFolder(real) == true {
        folders.append(link)
        names += ["\(link)/f0", "\(link)/f3"]
      }
    }
    return names
  }

  private static func links(_ names: [String]) -> [String] {
    names.compactMap { name in Files.link(name).map { "\(name) -> \($0)" } }
  }

  private static func policy(_ names: [String], in root: String, _ random: inout SeededGenerator) -> Policy {
    var policy = Policy()
    policy.observesFiles = true
    for name in names where random.chance(4) {
      var status = stat()
      guard stat(name, &status) == 0, let real = try? Files.real(name), real.hasPrefix(root) else { continue }
      switch (status.st_mode & S_IFMT == S_IFDIR, random.below(4)) {
      case (true, 0), (true, 1): policy.list.append(name)
      case (_, 2): policy.write.append(name)
      default: policy.read.append(name)
      }
    }
    return policy
  }

  @Test("a folder before '..' that isn't shown is reported, and offered is what the kernel resolves the path to")
  func detours() throws {
    let folder = "/var/tmp/outrider-test-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder + "/s/t", withIntermediateDirectories: true)
    for name in ["f", "s/f"] { try "x".write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8) }
    try FileManager.default.createSymbolicLink(atPath: folder + "/link", withDestinationPath: "s/t")
    func open(_ path: String, _ files: String) throws -> Workspace.Finished {
      try "version: 2\nfiles: {\(files)}\n".write(toFile: "\(folder)/p.yaml", atomically: true, encoding: .utf8)
      return try Workspace.run([
        "call", "libc.so.6", "open", "i32(cstring,i32)", "\(folder)/\(path)", "0", "--observe", "--policy",
        "\(folder)/p.yaml",
      ])
    }
    let missing = try open("./s/../f", "read: [\(folder)/f]")
    #expect(missing.output == "-1\n", "\(missing)")
    let told = ["denied by files: openat(\(folder)/s)\n", "policy: files: {list: [\(folder)/s]}"]
    #expect(told.allSatisfy { missing.errors.contains($0) }, "\(missing)")
    let listed = try open("./s/../f", "read: [\(folder)/f], list: [\(folder)/s]")
    #expect(listed.output != "-1\n" && !listed.errors.contains("denied"), "\(listed)")
    // Without '..' and what is before it, the name would be that of another file.
    let hidden = try open("link/../f", "read: [\(folder)/f]")
    #expect(hidden.errors.contains("policy: files: {list: [\(folder)]}"), "\(hidden)")
    let link = try open("link/../f", "list: [\(folder)]")
    #expect(link.output == "-1\n" && link.errors.contains("policy: files: {read: [\(folder)/s/f]}"), "\(link)")
    let granted = try open("link/../f", "list: [\(folder)], read: [\(folder)/s/f]")
    #expect(granted.output != "-1\n" && !granted.errors.contains("denied"), "\(granted)")
  }

  @Test("on random trees with links, every refusal is reported, and nothing else", arguments: seeds)
  func random(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    // Not below /tmp, in whose place a plugin has a folder of its own.
    let folder = "/var/tmp/outrider-test-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder + "/code", withIntermediateDirectories: true)
    try LibraryTests.compile(Self.source, "-o probe.so", in: folder + "/code")
    let host = try Workspace.host()
    defer { host.stop() }
    var (runs, refusals) = (0, 0)
    for round in 0..<24 {
      let root = "\(folder)/\(round)"
      let names = try Self.tree(root, &random)
      let policy = Self.policy(names, in: root, &random)
      let call = random.below(5)
      let plugin: Plugin
      do throws(HostError) {
        plugin = try await host.load("\(folder)/code/probe.so", policy: policy)
      } catch {
        // A folder is listed in one that is read, or a link is one that a plugin may have made.
        if case .usage = error { continue }
        Issue.record(
          "round \(round): \(error): read \(policy.read), write \(policy.write), list \(policy.list), tree \(Self.links(names))"
        )
        continue
      }
      let result = try await plugin.call(
        "probe", "i32(i32,cstring,out(\(names.count)))", .integer(Int64(call)), .text(names.map { $0 + "\n" }.joined()))
      let report = await plugin.end()
      // What is granted by a link's name is no link in its view (readlink(2), EINVAL).
      let failed = zip(names, try #require(result.out.first)).filter { $1 != 0 && $1 != UInt8(EINVAL) }.map(\.0)
      let refused = failed.filter { Self.succeeds(call, $0) }
      // What isn't on the machine either is reported, too.
      let reported = Set(report.denials.filter { $0.wall == "files" }.map(\.target))
      let (missed, wrong) = (Set(refused).subtracting(reported), reported.subtracting(failed))
      #expect(
        missed.isEmpty && wrong.isEmpty,
        "round \(round), call \(call): missed \(missed), wrong \(wrong): read \(policy.read), write \(policy.write), list \(policy.list)"
      )
      runs += 1
      refusals += refused.count
    }
    #expect(runs > 5 && refusals > 20, "\(runs) \(refusals)")
  }
}
