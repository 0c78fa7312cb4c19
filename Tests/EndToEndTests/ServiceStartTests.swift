import Foundation
import LinuxSystem
import ServiceProtocol
import TestSupport
import Testing

@testable import outrider

/// How commands start the service, and what they say where that fails.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct ServiceStartTests {
  /// A program in the service's place, and a socket that the test listens on when it likes.
  final class Place: Sendable {
    let service: ScriptedService
    var folder: String { service.folder }
    var program: String { "\(folder)/outriderd" }

    /// Nothing listens at first; the socket's file is there, as after a service that was killed.
    init(_ script: String) throws {
      service = try ScriptedService { peer, id, request in
        if case .apps = request { peer.reply(id, .apps([.sample()])) } else { peer.reply(id) }
      }
      service.die()
      try Self.write("cd '\(folder)'\n\(script)", to: program)
      try #require(mkfifo("\(folder)/go", 0o600) == 0)
    }

    /// A program that can be started at once. Another process writes it: what other tests start meanwhile would have it open for a
    /// moment, and the kernel starts nothing that is open for writing (ETXTBSY).
    static func write(_ script: String, to path: String) throws {
      try "#!/bin/bash\n\(script)\n".write(toFile: "\(path).text", atomically: false, encoding: .utf8)
      let copied = try Workspace.run(["-m", "700", "\(path).text", path], program: "/usr/bin/install")
      try #require(copied.status == 0, "\(copied)")
    }

    deinit {
      for line in text("pids").split(separator: "\n") { if let pid = Int32(line) { kill(pid, SIGKILL) } }
    }

    func text(_ name: String) -> String { (try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)) ?? "" }

    /// What the program waits for when it reads `go`.
    func go() throws {
      let handle = try #require(FileHandle(forWritingAtPath: "\(folder)/go"))
      try handle.write(contentsOf: Data("go\n".utf8))
      try handle.close()
    }

    func command(_ arguments: String..., wrapped: String = "") throws -> Workspace.Finished {
      let words = arguments.joined(separator: " ")
      return try Workspace.run(
        ["-c", "exec '\(Workspace.outrider)' \(words) \(wrapped)"], program: "/bin/bash",
        environment: [ServicePaths.stateVariable: folder, ServicePlace.programVariable: program])
    }
  }

  @Test("a service that is ready before its launcher says so is told with its process all the same")
  func readyFirst() throws {
    let place = try Place("")
    var starter = try ServiceStarter(try ServicePlace(state: place.folder), program: place.program)
    starter.launcher = "\(place.folder)/launcher"
    for said in ["printf 'ready\\nprocess 42\\n' >&3", "echo ready >&3; echo process 42 >&3"] {
      try Place.write(said, to: starter.launcher)
      #expect(try starter.start() == .ready(process: 42), "\(said)")
    }
  }

  @Test("a command starts the service apart from itself, says so, and goes on when it is ready") func starts()
    async throws
  {
    let place = try Place(
      """
      echo $$ >> pids
      echo "$*" > arguments
      ls /proc/$$/fd > descriptors
      cut -d' ' -f6 /proc/$$/stat > session
      readlink /proc/$$/cwd > /dev/null
      echo "a line of its log" >&2
      read line < go
      echo ready >&3
      exec 3>&-
      exec sleep 1000
      """)
    async let finished = onThread { try place.command("apps", "--development", wrapped: "9< /etc/hostname") }
    while place.text("session").isEmpty { try await Task.sleep(for: .milliseconds(1)) }
    try place.service.start()
    try place.go()
    let end = try await finished
    #expect(end.status == 0 && end.output.contains("com.example.sessions"), "\(end)")
    let pid = place.text("pids").trimmingCharacters(in: .newlines)
    #expect(end.errors == "started the service (process \(pid)); outrider service status tells of it\n", "\(end)")
    let log = "\(place.folder)/store/service.log"
    #expect(place.text("arguments") == "--development --log-file \(log) --ready-fd 3\n")
    #expect(place.text("session").trimmingCharacters(in: .newlines) == pid, "a session of its own")
    // 255 is the shell's own, of its script.
    #expect(place.text("descriptors").split(separator: "\n").allSatisfy { ["0", "1", "2", "3", "255"].contains($0) })
    #expect(place.text("store/service.log") == "a line of its log\n")
    let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
    #expect(!status.contains("PPid:\t\(getpid())\n"), "no child of the tests")
  }

  @Test("two commands at once start one service") func twoAtOnce() async throws {
    let place = try Place(
      """
      echo $$ >> pids
      if ! mkdir lock 2>/dev/null; then echo "already running: process 7" >&3; echo x >> losers; exit 1; fi
      read line < go
      echo ready >&3
      exec 3>&-
      exec sleep 1000
      """)
    async let first = onThread { try place.command("apps") }
    async let second = onThread { try place.command("apps") }
    while place.text("losers").isEmpty { try await Task.sleep(for: .milliseconds(1)) }
    try place.service.start()
    try place.go()
    let ends = try await [first, second]
    #expect(ends.allSatisfy { $0.status == 0 }, "\(ends)")
    #expect(ends.filter { $0.errors.contains("started the service") }.count == 1, "\(ends)")
  }

  @Test(
    "a service that can't be started is one sentence",
    arguments: [
      (
        "echo 'the database is locked by process 7; end that' >&3; exit 1",
        "the database is locked by process 7; end that"
      ),
      (
        "echo first >&2; echo 'no such library' >&2; exit 127", "ended before it was ready: no such library; its log is"
      ),
      ("head -c 100000 /dev/zero >&3", "isn't the service"), ("exit 0", "ended before it was ready; its log is"),
    ])
  func failures(script: String, sentence: String) throws {
    let place = try Place(script)
    let end = try place.command("apps")
    #expect(end.status == 69 && end.errors.contains(sentence), "\(end)")
    #expect(end.errors.split(separator: "\n").count == 1, "\(end)")
  }

  @Test("a missing program is named, with what to do") func missing() throws {
    let place = try Place("")
    try FileManager.default.removeItem(atPath: place.program)
    let end = try place.command("apps", "--json")
    #expect(end.status == 69 && end.errors.contains("\(place.program): No such file"), "\(end)")
    #expect(end.errors.contains("OUTRIDER_SERVICE") && end.output.contains("\"status\":69"), "\(end)")
  }

  @Test("a service that never gets ready is waited for only so long") func hangs() throws {
    let place = try Place("echo $$ >> pids; exec sleep 1000")
    var starter = try ServiceStarter(try ServicePlace(state: place.folder), program: place.program)
    starter.launcher = Workspace.outrider
    starter.timeout = .milliseconds(300)
    let failure = #expect(throws: Failure.self) { _ = try starter.start() }
    #expect(
      failure?.status == 75 && failure?.message.contains("still starting") == true, "\(String(describing: failure))")
  }

  @Test("a user without a home is told so, before anything is made") func noHome() throws {
    #expect(ServicePlace.lacksHome([:], accountHome: nil) && ServicePlace.lacksHome(["HOME": "x"], accountHome: nil))
    #expect(ServicePlace.lacksHome(["XDG_STATE_HOME": "/x"], accountHome: nil))
    #expect(
      !ServicePlace.lacksHome([:], accountHome: "/x") && !ServicePlace.lacksHome(["HOME": "/x"], accountHome: nil))
    #expect(!ServicePlace.lacksHome(["OUTRIDER_STATE": "/x"], accountHome: nil))
    let place = try Place("")
    var homeless = try ServicePlace(state: place.folder)
    homeless.lacksHome = true
    let failure = #expect(throws: Failure.self) {
      _ = try ServiceStarter(homeless, program: place.program).start()
    }
    #expect(failure?.status == 64 && failure?.message.contains("set HOME") == true, "\(String(describing: failure))")
  }

  @Test("what stands on the line of a start") func lines() {
    #expect(ServiceStartLine("ready") == .ready && ServiceStartLine("process 12") == .started(12))
    #expect(ServiceStartLine("already running: x") == .alreadyRunning("already running: x"))
    #expect(ServiceStartLine("no room for process 12") == .failed("no room for process 12"))
  }

  // MARK: service

  @Test("status, stop and log start nothing") func nothingStarts() throws {
    let place = try Place("echo $$ >> pids; exit 1")
    let status = try place.command("service", "status")
    #expect(status.status == 3 && status.output.contains("isn't running"), "\(status)")
    struct Report: Decodable { var isRunning: Bool, socket: String }
    let json = try place.command("service", "status", "--json")
    let report = try JSONDecoder().decode(Report.self, from: Data(json.output.utf8))
    #expect(json.status == 3 && !report.isRunning && report.socket == place.service.paths.socket, "\(json)")
    let stop = try place.command("service", "stop")
    #expect(stop.status == 0 && stop.errors.contains("isn't running"), "\(stop)")
    #expect(try place.command("service", "log").status == 66)
    #expect(place.text("pids").isEmpty)
  }

  @Test("stop returns when the service has ended") func stop() throws {
    let service = try ScriptedService { peer, id, request in
      if case .stop = request { peer.close() } else { peer.reply(id) }
    }
    let end = try service.run("service", "stop")
    #expect(end.status == 0 && end.errors.contains("(process 4999999) is stopped"), "\(end)")
  }

  @Test("a service of the state folder that listens in another runtime folder is named at once, with the remedy")
  func otherRuntimeFolder() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let runtimes = ["\(folder)/a", "\(folder)/b"]
    for runtime in runtimes {
      try FileManager.default.createDirectory(
        atPath: runtime, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }
    func command(in runtime: String, _ words: String...) throws -> Workspace.Finished {
      try Workspace.run(words, environment: ["HOME": folder, "XDG_RUNTIME_DIR": runtime])
    }
    defer { _ = try? command(in: runtimes[0], "service", "stop") }
    let started = try command(in: runtimes[0], "apps")
    #expect(started.status == 0, "\(started)")
    for (words, status) in [(["apps"], 69), (["service", "stop"], 69), (["service", "status"], 3), (["doctor"], nil)] {
      let end = try Workspace.run(words, environment: ["HOME": folder, "XDG_RUNTIME_DIR": runtimes[1]])
      let said = end.output + end.errors
      #expect(status == nil || end.status == Int32(status ?? 0), "\(end)")
      #expect(said.contains("\(runtimes[0])/outrider/service.sock"), "\(words): \(end)")
      #expect(said.contains("set XDG_RUNTIME_DIR=\(runtimes[0])"), "\(words): \(end)")
    }
    let stopped = try command(in: runtimes[0], "service", "stop")
    #expect(stopped.status == 0 && stopped.errors.contains("is stopped"), "\(stopped)")
    #expect(try command(in: runtimes[1], "service", "stop").errors == "the service isn't running\n")
  }

  @Test("a service that may open too few files to run an extension isn't begun, and says how many it lacks")
  func tooFewOpenFiles() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let command = "ulimit -n 60; exec '\(Workspace.outrider)' apps --state '\(folder)/s'"
    let end = try Workspace.run(["-c", command], program: "/bin/sh")
    #expect(end.status == 69 && end.errors.contains("may have 60 at once (RLIMIT_NOFILE)"), "\(end)")
    #expect(end.errors.contains("raise the limit (ulimit -n)"), "\(end)")
    #expect(!FileManager.default.fileExists(atPath: "\(folder)/s/run/service.sock"))
  }

  @Test("of a kernel's sockets those that listen count, and only a process's own")
  func listeners() {
    let table = """
      Num       RefCount Protocol Flags    Type St Inode Path
      0000000000000000: 00000002 00000000 00010000 0001 01 11 /run/a b/service.sock
      0000000000000000: 00000003 00000000 00000000 0001 03 12 /run/connected/service.sock
      0000000000000000: 00000002 00000000 00010000 0001 01 13 /run/another's/service.sock
      0000000000000000: 00000002 00000000 00010000 0001 01 14
      0000000000000000: 00000002 00000000 00010000 0001 01
      nonsense
      """
    let own: Set<String> = ["socket:[11]", "socket:[12]", "socket:[14]", "pipe:[13]", "/dev/null"]
    #expect(ServiceElsewhere.listeners(in: table, among: own) == ["/run/a b/service.sock"])
    #expect(ServiceElsewhere.listeners(in: "", among: own).isEmpty)
  }

  @Test("run becomes the service") func run() throws {
    let place = try Place("echo \"pid $$: $*\"; exit 7")
    let end = try place.command("service", "run", "--log-format", "json", "--idle-exit", "5")
    #expect(end.status == 7 && end.output.hasSuffix(": --log-format json --idle-exit 5\n"), "\(end)")
  }

  @Test("log prints the last lines, harmless, and goes on in the next file") func log() throws {
    let place = try Place("")
    let log = "\(place.folder)/store/service.log"
    try FileManager.default.createDirectory(atPath: "\(place.folder)/store", withIntermediateDirectories: true)
    try ((1...5000).map { "line \($0)\u{1b}[2J" }.joined(separator: "\n") + "\n")
      .write(toFile: log, atomically: false, encoding: .utf8)
    let end = try place.command("service", "log", "--limit", "3", "--state", place.folder)
    #expect(
      end.output.split(separator: "\n").map { $0.prefix(9) } == ["line 4998", "line 4999", "line 5000"], "\(end)")
    #expect(!end.output.contains("\u{1b}"))
    let command = try RunningCommand(
      ["service", "log", "--follow", "--limit", "1", "--state", place.folder], state: place.folder)
    #expect(command.wait(for: "line 5000"))
    rename(log, log + ".1")
    try "begun again\n".write(toFile: log, atomically: false, encoding: .utf8)
    #expect(command.wait(for: "begun again"))
    command.interrupt()
    #expect(command.finish().status == 130)
  }
}
