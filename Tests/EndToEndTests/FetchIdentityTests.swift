import DevelopmentOrigin
import Foundation
import LinuxSystem
import TestSupport
import Testing

/// `outrider serve --client-certificate` and `outrider fetch --cert`, against each other.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct FetchTestsWithIdentity {
  /// Two origins: one sends every client on to the other, which asks who one is.
  @Test(arguments: [
    Authentication.basic(user: "me", password: "secret"), .digest(user: "me", password: "secret"),
    .bearer(token: "secret"),
  ])
  func aRedirectGetsNoCredential(authentication: Authentication) throws {
    let place = try FetchTests.Place { $0.authentication = authentication }
    let target = place.origin.url("/b.bin")
    let sender = try Origin {
      $0.handler = { _, _ in
        var reply = Reply.status(302)
        reply.setHeaders = [HeaderField("Location", target)]
        return reply
      }
    }
    defer { sender.stop() }
    try "secret\n".write(toFile: "\(place.folder)/token", atomically: false, encoding: .utf8)
    let isBearer = authentication == .bearer(token: "secret")
    let identity = isBearer ? ["--token-file", "\(place.folder)/token"] : ["--user", "me:secret"]
    func fetch(_ arguments: [String]) throws -> Workspace.Finished {
      try Workspace.run(["fetch"] + place.base + arguments)
    }
    let sent = try fetch([sender.url("/b.bin")] + identity)
    #expect(sent.status == 1 && sent.errors.contains("the command names"), "\(sent.errors)")
    #expect(!place.origin.requests.isEmpty && place.origin.requests.allSatisfy { $0.header("Authorization") == nil })

    let without = try fetch([target])
    #expect(without.status == 1 && without.errors.contains(identity[0]), "\(without.errors)")
    let wrong = try fetch([target, "--user", "me:wrong"])
    #expect(wrong.status == 1 && wrong.errors.contains(isBearer ? "--token-file" : "was refused"), "\(wrong.errors)")
    let named = try fetch([target] + identity)
    #expect(named.status == 0 && place.data("b.bin") == Data("hello".utf8), "\(named.errors)")
  }

  @Test func showsACertificateToWhoAsks() throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-identity-")
    defer { Files.removeTree(folder) }
    try FileManager.default.createDirectory(atPath: "\(folder)/served", withIntermediateDirectories: true)
    try "hello".write(toFile: "\(folder)/served/a", atomically: false, encoding: .utf8)
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: Workspace.outrider)
    process.arguments = [
      "serve", "\(folder)/served", "--tls", "--client-certificate", "--ca-dir", "\(folder)/ca", "--json",
    ]
    let output = Pipe.own()
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

    let stranger = try CertificateAuthority(directory: "\(folder)/other")
    for (authority, identity) in [(stranger.path, []), (nil, []), (nil, ["--user", "a:b"])] as [(String?, [String])] {
      let arguments = Array(base.dropLast(2)) + (authority.map { ["--cacert", $0] } ?? []) + identity
      let result = try Workspace.run(arguments)
      #expect(result.status == 1 && result.errors.contains("--cacert"), "\(result.errors)")
      #expect(!result.errors.contains("routines") && !result.errors.contains("none was given"), "\(result.errors)")
    }

    // What was named counts for more than the environment.
    let other = try #require(stranger.path)
    for (file, arguments, status, message) in [
      (facts.ca, [], 1, "client certificate"), (other, ["--cacert", facts.ca], 1, "client certificate"),
      (other, [], 1, "--cacert"), ("", ["--cacert", facts.ca], 1, "client certificate"),
      ("/nonexistent.pem", [], 66, "SSL_CERT_FILE, /nonexistent.pem: No such file"),
      ("\(folder)/served/a", [], 66, "SSL_CERT_FILE, \(folder)/served/a: there is no certificate"),
    ] as [(String, [String], Int32, String)] {
      let result = try Workspace.run(Array(base.dropLast(2)) + arguments, environment: ["SSL_CERT_FILE": file])
      #expect(result.status == status && result.errors.contains(message), "\(file) \(arguments): \(result.errors)")
    }

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
