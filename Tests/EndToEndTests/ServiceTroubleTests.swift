import Foundation
import LinuxSystem
import ServiceProtocol
import TestSupport
import Testing

@testable import outrider

/// What commands say of a service that hangs, ends under them, or whose files are something else.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct ServiceTroubleTests {
  @Test("a service that takes a connection and doesn't answer is named, with how to end it")
  func silent() async throws {
    let service = try ScriptedService { _, _, _ in }
    service.die()
    let listener = try service.listen()
    defer { close(listener) }
    let place = try ServicePlace(state: service.folder)
    let failure = await #expect(throws: Failure.self) {
      _ = try await ServiceOperator.connectRunning(place, within: .milliseconds(100))
    }
    #expect(
      failure?.status == 69 && failure?.message.contains("hasn't answered") == true, "\(String(describing: failure))")
    // The tests listen, and not a service that one could kill.
    #expect(failure?.message.contains("systemctl --user restart") == true, "\(String(describing: failure))")
  }

  @Test("a command whose service ends before it answers ends with 69, and says what to do") func ends() throws {
    let service = try ScriptedService { peer, _, _ in peer.close() }
    let end = try Workspace.run(["apps", "--state", service.folder])
    #expect(end.status == 69 && end.errors.contains("run the command again"), "\(end)")
  }

  enum Kind: CaseIterable { case pipe, folder, linkToNothing }

  @Test("a log that isn't a file is named, and nobody waits for it", arguments: Kind.allCases)
  func log(kind: Kind) throws {
    let state = NSTemporaryDirectory() + "outrider-log-\(UUID().uuidString)"
    let log = "\(state)/store/service.log"
    try FileManager.default.createDirectory(atPath: "\(state)/store", withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: state) }
    let made =
      switch kind {
      case .pipe: mkfifo(log, 0o600)
      case .folder: mkdir(log, 0o700)
      case .linkToNothing: symlink("/nonexistent/log", log)
      }
    try #require(made == 0)
    for command in [["apps"], ["service", "log"]] {
      let end = try Workspace.run(command + ["--state", state])
      #expect(end.status == 73 && end.errors.contains("\(log) isn't a regular file"), "\(end)")
    }
  }

  @Test("a folder that a user's mask would have closed to its owner is open to it") func mask() throws {
    let folder = NSTemporaryDirectory() + "outrider-mask-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let end = try Workspace.run(
      [
        "-c",
        """
        umask 0777; '\(Workspace.outrider)' apps --state '\(folder)/s'; echo $?
        '\(Workspace.outrider)' service stop --state '\(folder)/s'; stat -c %a '\(folder)/s/store'
        """,
      ], program: "/bin/sh")
    #expect(end.output.hasSuffix("0\n700\n"), "\(end)")
  }

  @Test("a process that its parent hasn't waited for has ended") func unreaped() throws {
    func start(_ words: String...) throws -> pid_t {
      var pid = pid_t()
      let texts = words.map { strdup($0) } + [nil]
      defer { for text in texts { free(text) } }
      try #require(posix_spawn(&pid, words[0], nil, nil, texts, nil) == 0)
      return pid
    }
    var status: Int32 = 0
    let sleeper = try start("/bin/sleep", "1000")
    #expect(!Processes.hasEnded(sleeper, within: 0))
    kill(sleeper, SIGKILL)
    #expect(Processes.hasEnded(sleeper, within: 60) && kill(sleeper, 0) == 0)
    #expect(waitpid(sleeper, &status, 0) == sleeper)
    #expect(Processes.hasEnded(sleeper, within: 0))
  }
}
