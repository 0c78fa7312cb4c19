import DevelopmentOrigin
import Foundation
import TestSupport
import Testing

@Suite(.ownThreads, .timeLimit(.minutes(1))) struct CurlTests {
  private struct Finished {
    var status: Int32
    var output: String
  }

  private func curl(_ arguments: [String]) throws -> Finished {
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/curl")
    process.arguments = ["-sS", "--noproxy", "*", "--max-time", "10"] + arguments
    let output = Pipe.own()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return Finished(status: process.terminationStatus, output: String(decoding: data, as: UTF8.self))
  }

  private static func secure(_ fault: CertificateFault? = nil) throws -> (Origin, String) {
    let directory = NSTemporaryDirectory() + "origin-ca-\(UUID().uuidString)"
    let authority = try CertificateAuthority(directory: directory)
    let origin = try Origin {
      $0.tls = TLSOptions(authority)
      $0.tls?.names = ["assets.test"]
      $0.tls?.fault = fault
      $0.resources["/a"] = Resource(.text("hello"))
    }
    return (origin, directory)
  }

  @Test func trustsTheAuthority() throws {
    let (origin, directory) = try Self.secure()
    defer {
      origin.stop()
      try? FileManager.default.removeItem(atPath: directory)
    }
    let trust = ["--cacert", directory + "/ca.pem"]
    for version in ["1.2", "1.3"] {
      let finished = try curl(trust + ["--tlsv\(version)", "--tls-max", version, origin.url("/a")])
      #expect(finished.status == 0 && finished.output == "hello")
    }
    let named = "https://assets.test:\(origin.port)/a"
    #expect(try curl(trust + ["--resolve", "assets.test:\(origin.port):127.0.0.1", named]).output == "hello")
    #expect(try curl([origin.url("/a")]).status == 60)
    #expect(
      try CertificateAuthority(directory: directory).pem
        == String(contentsOfFile: directory + "/ca.pem", encoding: .utf8))
    let mode = try FileManager.default.attributesOfItem(atPath: directory + "/ca-key.pem")[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  @Test(arguments: CertificateFault.allCases) func distrustsTheFaulty(_ fault: CertificateFault) throws {
    let (origin, directory) = try Self.secure(fault)
    defer {
      origin.stop()
      try? FileManager.default.removeItem(atPath: directory)
    }
    var trust = ["--cacert", directory + "/ca.pem"]
    if fault == .revoked {
      trust += ["--crlfile", try CertificateAuthority(directory: directory).storeRevocationList(in: directory)]
    }
    #expect(try curl(trust + ["--tlsv1.2", origin.url("/a")]).status == (fault == .oldTLS ? 35 : 60))
    // What is wrong is that alone.
    let lax = fault == .oldTLS ? ["--tlsv1.0", "--ciphers", "ALL:@SECLEVEL=0"] : []
    #expect(try curl(["-k"] + lax + [origin.url("/a")]).output == "hello")
  }

  @Test(arguments: ["basic:me:a:b", "digest:me:secret", "digest-md5:me:secret"]) func authenticates(_ text: String)
    throws
  {
    let authentication = try #require(Authentication(text))
    let origin = try Origin {
      $0.authentication = authentication
      $0.resources["/a"] = Resource(.text("hello"))
    }
    defer { origin.stop() }
    let scheme = text.hasPrefix("basic") ? "--basic" : "--digest"
    let secret = text.split(separator: ":").dropFirst().joined(separator: ":")
    #expect(try curl([scheme, "-u", secret, origin.url("/a")]).output == "hello")
    #expect(
      try curl(["-o", "/dev/null", "-w", "%{http_code}", scheme, "-u", "me:no", origin.url("/a")]).output == "401")
    #expect(try curl(["-o", "/dev/null", "-w", "%{http_code}", origin.url("/a")]).output == "401")
  }

  @Test func authenticatesBearersAndStaleNonces() throws {
    let bearer = try Origin { $0.authentication = .bearer(token: "t") }
    #expect(RawClient.get(bearer.port, "/", headers: ["Authorization: Bearer t"]).status == 404)
    #expect(
      RawClient.get(bearer.port, "/", headers: ["Authorization: Bearer u"]).header("WWW-Authenticate")?.contains(
        "invalid_token") == true)
    bearer.stop()
    let digest = try Origin {
      $0.authentication = .digest(user: "me", password: "s", usesPerNonce: 1)
      $0.resources["/a"] = Resource(.text("hello"))
    }
    #expect(
      try curl(["--digest", "-u", "me:s", digest.url("/a"), digest.url("/a"), digest.url("/a")]).output
        == "hellohellohello")
    digest.stop()
  }
}
