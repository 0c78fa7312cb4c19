import DevelopmentOrigin
import Foundation
import LinuxSystem
import Testing

/// `outrider serve --client-certificate` and `outrider fetch --cert`, against each other.
@Suite struct FetchTestsWithIdentity {
  @Test func showsACertificateToWhoAsks() throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-identity-")
    defer { Files.removeTree(folder) }
    try FileManager.default.createDirectory(atPath: "\(folder)/served", withIntermediateDirectories: true)
    try "hello".write(toFile: "\(folder)/served/a", atomically: false, encoding: .utf8)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: Workspace.outrider)
    process.arguments = [
      "serve", "\(folder)/served", "--tls", "--client-certificate", "--ca-dir", "\(folder)/ca", "--json",
    ]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    defer {
      kill(process.processIdentifier, SIGINT)
      process.waitUntilExit()
    }
    struct Facts: Decodable { var url: String, ca: String, clientCertificate: String, clientKey: String }
    let facts = try JSONDecoder().decode(Facts.self, from: output.fileHandleForReading.availableData)
    let mode = try FileManager.default.attributesOfItem(atPath: facts.clientKey)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    let base = ["fetch", facts.url + "a", "--to", folder, "--state", "\(folder)/state", "--cacert", facts.ca]
    let identity = ["--cert", facts.clientCertificate, "--key", facts.clientKey]

    let without = try Workspace.run(base)
    #expect(without.status == 1 && without.errors.contains("client certificate"), "\(without.errors)")
    // One file may have both.
    let both = "\(folder)/both.pem"
    let text = try [facts.clientKey, facts.clientCertificate].map { try String(contentsOfFile: $0, encoding: .utf8) }
    try text.joined().write(toFile: both, atomically: false, encoding: .utf8)

    for (arguments, status, message) in [
      (["--cert", "/nonexistent.pem"], 66, "/nonexistent.pem"),
      (["--cert", facts.clientCertificate, "--key", "/no"], 66, "/no"),
      (["--cert", "\(folder)/served/a"], 64, "no certificate"), (["--cert", facts.clientCertificate], 64, "--key"),
      (["--cert", facts.clientCertificate, "--key", facts.ca], 64, "no private key"),
      (["--key", facts.clientKey], 64, "--cert"),
    ] as [([String], Int32, String)] {
      let result = try Workspace.run(base + arguments)
      #expect(result.status == status && result.errors.contains(message), "\(arguments): \(result.errors)")
    }
    let result = try Workspace.run(base + identity)
    #expect(result.status == 0, "\(result.errors)")
    #expect(FileManager.default.contents(atPath: "\(folder)/a") == Data("hello".utf8))
    try FileManager.default.removeItem(atPath: "\(folder)/a")
    #expect(try Workspace.run(base + ["--cert", both]).status == 0)
    #expect(try Workspace.run(["serve", folder, "--client-certificate"]).status == 64)
  }
}
