import AssetModel
import AssetStore
import DevelopmentOrigin
import Foundation
import LinuxSystem
import Testing

/// F-41 and F-43: killed at every write, synchronisation, rename and commit of a fetch; the next run has to end well.
@Suite struct CrashTests {
  static let content = Content.pseudoRandom(seed: 8, count: (12 << 20) + 5)

  static func run(_ folder: String, _ url: String, _ number: Int, _ manner: String) async throws -> (
    status: Int32, output: String
  ) {
    let binary = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
    let program = binary.path + "/interrupted-fetch"
    var words: [UnsafeMutablePointer<CChar>?] = [program, folder, url, "\(number)", manner].map { (word: String) in
      strdup(word)
    }
    words.append(nil)
    defer { for word in words { free(word) } }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    let log = "\(folder)/log"
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    var process: pid_t = 0
    let code = posix_spawn(&process, program, &actions, nil, &words, environ)
    guard code == 0 else { throw SystemCallError("posix_spawn", code: code, subject: "interrupted-fetch") }
    // Looked at now and then: what waited here would take one of the few threads that all tests share, for most of a minute.
    var status: Int32 = 0
    while waitpid(process, &status, WNOHANG) == 0 { try await Task.sleep(for: .milliseconds(1)) }
    return (status, (try? Files.text(of: log)) ?? "")
  }

  @Test("F-41 F-43 killed at every operation that leaves a trace", arguments: ["before", "after"])
  func everywhere(manner: String) async throws {
    let origin = try Origin { $0.resources["/file"] = Resource(Self.content) }
    defer { origin.stop() }
    let url = origin.url("/file")
    var number = 0
    var wasKilled = true
    while wasKilled {
      number += 1
      let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-crash-")
      defer { Files.removeTree(folder) }
      try FileManager.default.createDirectory(
        atPath: "\(folder)/state", withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
      let first = try await Self.run(folder, url, number, manner)
      wasKilled = first.status & 0x7f == SIGKILL
      #expect(wasKilled || first.status == 0, "operation \(number): \(first.output)")
      let before = FileManager.default.contents(atPath: "\(folder)/file")
      #expect(
        before == nil || before?.count == Self.content.count, "never half a file at its place, operation \(number)")
      origin.reset()
      let second = try await Self.run(folder, url, 0, manner)
      #expect(second.status == 0, "operation \(number), \(manner): \(second.output)")
      #expect(
        FileManager.default.contents(atPath: "\(folder)/file") == Data(Self.content.bytes(in: 0..<Self.content.count)),
        "operation \(number)")
      let staged = try FileManager.default.subpathsOfDirectory(atPath: "\(folder)/.outrider")
      #expect(staged.allSatisfy { !$0.contains("/") }, "nothing is left behind, operation \(number): \(staged)")
      let store = try AssetStore(opening: "\(folder)/state")
      #expect(try store.deliveries().count == 1, "one callback, operation \(number)")
      #expect(try store.job(JobID(2)) == nil)
      try store.close()
    }
    #expect(number > 30, "there was something to kill")
  }
}
