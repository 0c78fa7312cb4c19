import Foundation
import PluginHost
import PolicyLab
import Sandbox
import TestSupport
import Testing

/// `outrider policy residual`: what a plugin can still do.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct ResidualTests {
  private static func residual(_ policy: Policy) async throws -> Residual {
    let host = try Workspace.host()
    defer { host.stop() }
    return try await ResidualRunner(host: host, policy: policy).run()
  }

  private static func possible(_ residual: Residual) -> Set<String> {
    Set(residual.probes.filter(\.isPossible).map(\.name))
  }

  @Test("what is tried is what the filter says, call by call") func sweep() async throws {
    let residual = try await Self.residual(Policy())
    #expect(Set(residual.passed + residual.byArguments).allSatisfy(SystemCalls.isEverAllowed))
    #expect(residual.denied.allSatisfy { !SystemCalls.isEverAllowed($0) })
    for name in ["read", "futex", "mkdir", "getpid"] { #expect(residual.passed.contains(name), "\(name)") }
    for name in ["mmap", "clone", "prctl"] { #expect(residual.byArguments.contains(name), "\(name)") }
    for name in ["ptrace", "execve", "socket", "bpf", "clone3", "splice"] {
      #expect(residual.denied.contains(name), "\(name)")
    }
    let all = residual.passed + residual.byArguments + residual.denied
    #expect(Set(all).count == all.count && all.count > 300)
  }

  @Test("attempts show what holds, and each is made") func attempts() async throws {
    let residual = try await Self.residual(Policy())
    let possible = Self.possible(residual)
    #expect(
      possible.isSuperset(of: ["make a file in its container", "make a thread", "map shared memory", "open /dev/null"]))
    #expect(
      possible.isDisjoint(with: [
        "fork", "start a program", "read /etc/passwd", "make a socket for the internet", "become root", "list the root",
        "make memory that it wrote executable", "load a system library later", "look into a process",
      ]))
    #expect(residual.probes.count >= 50 && residual.probes.allSatisfy { !$0.result.isEmpty })
    #expect(residual.probes.first { $0.name == "fork" }?.deniedBy == ["seccomp: clone"])
  }

  @Test("what a granted folder and file lets be written is said, and nothing is left there") func granted() async throws
  {
    let folder = try LibraryTests.folder()
    let (written, read, file) = (folder + "/written", folder + "/read", folder + "/file")
    let listed = "/var/tmp/outrider-test-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: listed) }
    for path in [written, read, listed] {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    #expect(FileManager.default.createFile(atPath: file, contents: Data("kept".utf8)))
    let residual = try await Self.residual(
      try Policy(
        parsing: "version: 2\nfiles: {read: ['\(read)'], write: ['\(written)', '\(file)'], list: ['\(listed)']}",
        file: "p"))
    #expect(
      Self.possible(residual).isSuperset(of: [
        "read \(written)", "write \(written)", "read \(read)", "read \(file)", "write \(file)", "list \(listed)",
      ]))
    #expect(Self.possible(residual).isDisjoint(with: ["read \(listed)", "write \(listed)"]))
    #expect(try FileManager.default.contentsOfDirectory(atPath: written).isEmpty)
    #expect(FileManager.default.contents(atPath: file) == Data("kept".utf8))
  }

  @Test("hosts, programs and patterns are named and not tried, and code is mapped") func untried() async throws {
    let folder = try LibraryTests.folder()
    let file = folder + "/\u{9}it's \"code\""
    #expect(FileManager.default.createFile(atPath: file, contents: Data(count: 4096)))
    var policy = try Policy(
      parsing: "version: 2\nfiles: {read: ['/usr/share/*.d']}\nnetwork: ['example.org:443', '192.0.2.7:53']", file: "p")
    policy.libraries = [file]
    #expect(
      ResidualProbes.untried(under: policy) == [
        "connect to example.org:443", "connect to 192.0.2.7:53", "read /usr/share/*.d",
      ])
    policy.processes = 1
    #expect(
      ResidualProbes.untried(under: policy).contains { $0.hasPrefix("start programs of its bundle") }
        && ResidualProbes.untried(under: policy).contains("start \(file), or what lies in it"))
    var mapping = Policy()
    mapping.libraries = [file]
    let residual = try await Self.residual(mapping)
    #expect(
      Self.possible(residual).isSuperset(of: ["read \(file)", "map code of \(file)"]) && residual.untried.isEmpty)
    #expect(!Self.possible(residual).contains("write \(file)"))
  }

  @Test("a narrower policy leaves less, and a wider one what it says") func compared() async throws {
    let all = try await Self.residual(Policy())
    let computation = try await Self.residual(
      try Policy(parsing: "version: 2\nextends: computation", file: "p"))
    #expect(Self.possible(computation).isStrictSubset(of: Self.possible(all)))
    #expect(Set(computation.passed).isStrictSubset(of: Set(all.passed)))
    #expect(Self.possible(computation).isDisjoint(with: ["make a thread", "make a timer", "open /dev/null"]))
    let wide = try await Self.residual(
      try Policy(parsing: "version: 2\nfiles: {read: [/etc/passwd]}\nexecutableMemory: jit", file: "p"))
    #expect(
      Self.possible(wide).subtracting(Self.possible(all)) == [
        "read /etc/passwd", "make memory that it wrote executable", "load a system library later",
      ])
  }

  @Test("it is printed, and as JSON") func command() throws {
    let end = try Workspace.run(["policy", "residual", "computation"])
    #expect(end.status == 0 && end.output.contains("+ map private memory\n") && end.output.contains("- fork"), "\(end)")
    #expect(end.output.split(separator: "\n").allSatisfy { $0.count <= 80 })
    let json = try Workspace.run(["policy", "residual", "--json"])
    let object = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any]
    #expect((object?["probes"] as? [Any])?.count ?? 0 > 50 && object?["denied"] != nil)
    #expect(try Workspace.run(["policy", "residual", "/nowhere.yaml"]).status == 66)
  }
}
