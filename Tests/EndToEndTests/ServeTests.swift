import Foundation
import TestSupport
import Testing

@Suite(.ownThreads, .timeLimit(.minutes(3))) struct ServeTests {
  @Test func servesUntilItIsInterrupted() throws {
    let directory = NSTemporaryDirectory() + "outrider-serve-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try "hello".write(toFile: directory + "/a", atomically: false, encoding: .utf8)
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: Workspace.outrider)
    process.arguments = ["serve", directory, "--json"]
    let output = Pipe.own()
    let errors = Pipe.own()
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    struct Facts: Decodable {
      var url: String
      var pid: Int32
    }
    let facts = try JSONDecoder().decode(Facts.self, from: output.fileHandleForReading.availableData)
    #expect(facts.pid == process.processIdentifier)
    let client = TestProcess()
    client.executableURL = URL(fileURLWithPath: "/usr/bin/curl")
    client.arguments = ["-sS", "--noproxy", "*", facts.url + "a"]
    let body = Pipe.own()
    client.standardOutput = body
    try client.run()
    #expect(body.fileHandleForReading.readDataToEndOfFile() == Data("hello".utf8))
    kill(facts.pid, SIGINT)
    process.waitUntilExit()
    #expect(process.terminationStatus == 130)
    let log = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    #expect(log.contains("GET /a 200 5\n"))
  }

  @Test("one whose URL is lost ends", arguments: [">/dev/full", ">&-", "--json >/dev/full"])
  func lostURL(options: String) throws {
    let command = "exec timeout -s KILL 20 '\(Workspace.outrider)' serve '\(Workspace.root)/Examples' \(options)"
    let end = try Workspace.run(["-c", command], program: "/bin/sh")
    #expect(end.status == 74 && end.errors.contains("standard output"), "\(end)")
  }

  @Test("what a mask would have closed to its owner is open to it", arguments: ["777", "277"])
  func mask(mask: String) throws {
    let authority = NSTemporaryDirectory() + "outrider-serve-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: authority) }
    let command = "'\(Workspace.outrider)' serve /nonexistent --tls --client-certificate --ca-dir '\(authority)/ca'"
    let end = try Workspace.run(
      ["-c", "umask \(mask); \(command); echo $?; find '\(authority)' ! -perm -600"], program: "/bin/sh")
    #expect(end.output == "66\n" && FileManager.default.fileExists(atPath: authority + "/ca/client.pem"), "\(end)")
  }

  @Test func saysWhatIsWrong() throws {
    #expect(try Workspace.run(["serve", "/nonexistent"]).status == 66)
    #expect(try Workspace.run(["serve", "/tmp", "--script", "/nonexistent.yaml"]).status == 66)
    let script = try Workspace.temporaryFile("version: 1\nrules: [{pth: /a}]", suffix: ".yaml")
    defer { try? FileManager.default.removeItem(atPath: script) }
    let finished = try Workspace.run(["serve", "/tmp", "--script", script])
    #expect(finished.status == 64 && finished.errors.contains(":2:10: "))
    #expect(try Workspace.run(["serve", "/tmp", "--auth", "x"]).status == 64)
  }

  @Test(
    "faults that only TLS has are told where there is none",
    arguments: [("certificate: expired", false), ("certificate: expired", true), ("accept: reset", false)])
  func certificateFaults(fault: String, isTLS: Bool) throws {
    let script = try Workspace.temporaryFile("version: 1\nconnections: [{on: 1, \(fault)}]", suffix: ".yaml")
    let authority = script + ".ca"
    defer { for path in [script, authority] { try? FileManager.default.removeItem(atPath: path) } }
    // It says so before it looks at the folder.
    let options = isTLS ? ["--tls", "--ca-dir", authority] : []
    let end = try Workspace.run(["serve", "/nonexistent", "--script", script] + options)
    let isTold = end.errors.contains("--script \(script): its certificate faults need --tls")
    #expect(end.status == 66 && isTold == (fault.hasPrefix("certificate") && !isTLS), "\(end)")
  }
}
