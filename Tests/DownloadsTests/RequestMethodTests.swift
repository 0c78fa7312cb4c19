import AssetModel
import AssetStore
import DevelopmentOrigin
import Downloads
import Foundation
import LinuxSystem
import Testing

/// A request with another method than GET, or with a body: sent as it is, never in parts, and never to another origin.
@Suite(.timeLimit(.minutes(2))) struct RequestMethodTests {
  private static let body = Array("{\"level\":\"1\u{0}2\"}".utf8)

  private static func scene(
    _ method: String = "POST", _ body: [UInt8] = body, headers: [Download.Header] = [],
    _ transferClass: TransferClass = .foreground, size: Int64? = nil,
    configure: ((inout OriginConfiguration) -> Void)? = nil,
    options: ((inout EngineOptions) -> Void)? = nil,
    reply: @escaping @Sendable (RecordedRequest, Int) -> Reply? = { _, _ in .with { $0.body = .resource(Trial.path) } }
  ) async throws -> Scene {
    try await Scene(
      transferClass, size: size,
      specification: {
        $0.method = method
        $0.body = body
        $0.headers = headers
      }, configure: configure, options: options, reply: reply)
  }

  @Test(
    "method and body of a request are sent as they are",
    arguments: [
      ("POST", body), ("PUT", body), ("PATCH", []), ("POST", []), ("DELETE", []), ("GET", body), ("QUERY", body),
    ])
  func sent(method: String, body: [UInt8]) async throws {
    let scene = try await Self.scene(method, body)
    #expect(try await scene.end().isFinished && scene.isWhole)
    let request = try #require(scene.origin.requests.first)
    #expect(scene.origin.requests.count == 1 && request.method == method && request.body == body)
    // libcurl's own words aren't the client's.
    #expect(request.header("Content-Type") == nil && request.header("Expect") == nil)
    let length = request.header("Content-Length")
    #expect(
      length == (body.isEmpty ? (method == "DELETE" ? nil : "0") : "\(body.count)"), "\(method): \(length ?? "-")")
    _ = try await scene.close()
  }

  @Test("a body keeps the type that the client gave it") func type() async throws {
    let scene = try await Self.scene(headers: [.init(name: "Content-Type", value: "application/json")])
    #expect(try await scene.end().isFinished)
    #expect(scene.origin.requests.first?.headers("Content-Type") == ["application/json"])
    _ = try await scene.close()
  }

  @Test("a request with a body isn't resumed: it is made again, whole") func again() async throws {
    let scene = try await Self.scene(reply: { _, nth in
      .with {
        $0.body = .resource(Trial.path)
        if nth == 1 { $0.ending = .init(.close, after: .byte(2 << 20)) }
      }
    })
    #expect(try await scene.end().isFinished && scene.isWhole)
    #expect(scene.origin.requests.map(\.body) == [Self.body, Self.body])
    #expect(scene.origin.requests.allSatisfy { $0.header("Range") == nil && $0.header("If-Range") == nil })
    _ = try await scene.close()
  }

  @Test(
    "a redirect repeats the request, or makes a GET of it (RFC 9110, 15.4)",
    arguments: [301, 302, 303, 307, 308], ["POST", "PUT"])
  func redirects(status: Int, method: String) async throws {
    let scene = try await Self.scene(
      method, headers: [.init(name: "Content-Type", value: "application/json"), .init(name: "X-Key", value: "1")],
      reply: { request, _ in
        request.path == Trial.path
          ? .with { $0.redirect = .to("/other", status: status) } : .with { $0.body = .resource(Trial.path) }
      })
    #expect(try await scene.end().isFinished && scene.isWhole)
    let request = try #require(scene.origin.requests.last)
    let becomesGet = status == 303 || method == "POST" && status < 303
    #expect(request.method == (becomesGet ? "GET" : method), "\(status)")
    #expect(request.body == (becomesGet ? [] : Self.body))
    #expect((request.header("Content-Type") == nil) == becomesGet && request.header("X-Key") == "1")
    _ = try await scene.close()
  }

  @Test("after a POST the same address may be read (POST, redirect, GET)") func readBack() async throws {
    let scene = try await Self.scene(reply: { request, _ in
      request.method == "POST"
        ? .with { $0.redirect = .to(Trial.path, status: 303) } : .with { $0.body = .resource(Trial.path) }
    })
    #expect(try await scene.end().isFinished && scene.isWhole)
    #expect(scene.origin.requests.map(\.method) == ["POST", "GET"])
    _ = try await scene.close()
  }

  @Test("a body is never sent to another origin than the one it is meant for", arguments: [307, 308])
  func elsewhere(status: Int) async throws {
    let other = try Origin { $0.handler = { _, _ in .with { $0.body = .resource(Trial.path) } } }
    defer { other.stop() }
    let target = other.url("/other")
    let scene = try await Self.scene(reply: { _, _ in .with { $0.redirect = .to(target, status: status) } })
    let failure = try #require(try await scene.end().failure)
    #expect(failure.reason == .notAllowed && failure.detail.contains("isn't repeated elsewhere"), "\(failure)")
    #expect(other.requests.isEmpty)
    _ = try await scene.close()
  }

  @Test("a digest answer names the method that is used (RFC 7616, 3.4.3)") func digestAuthentication() async throws {
    let scene = try await Self.scene(
      configure: { $0.authentication = .digest(user: "user", password: "right") },
      options: { $0.answerChallenge = { _ in .credential(user: "user", password: "right") } })
    #expect(try await scene.end().isFinished && scene.isWhole)
    #expect(scene.origin.requests.map(\.method) == ["POST", "POST"])
    _ = try await scene.close()
  }

  @Test("the journal keeps method and body") func journal() throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-methods-")
    defer { Files.removeTree(folder) }
    let store = try AssetStore(opening: folder)
    var specification = DownloadSpecification(
      app: "app", identifier: "file", url: "https://a.example/", method: "POST", body: Self.body,
      transferClass: .foreground, directory: "/a", fileName: "f")
    let now = StoredMoment(bootIdentifier: "b", boot: 1, wall: 1)
    let id = try #require(try store.add([specification], now: now)[0].job)
    #expect(try store.job(id)?.specification == specification)
    specification.body = []
    #expect(!specification.asksForTheSame(as: try #require(try store.job(id)).specification))
    try store.close()
  }

  @Test(
    "what is no method, or has no file for an answer, is refused",
    arguments: ["", "GE T", "GET\r\nX: y", "HEAD", "TRACE", "connect", String(repeating: "A", count: 33)])
  func refused(method: String) {
    let specification = DownloadSpecification(
      app: "app", identifier: "file", url: "https://a.example/", method: method, transferClass: .foreground,
      directory: "/a", fileName: "f")
    #expect(specification.rejectionReason != nil)
  }

  @Test("a body has at most 64 KiB") func tooLong() {
    var specification = DownloadSpecification(
      app: "app", identifier: "file", url: "https://a.example/", method: "POST",
      body: [UInt8](repeating: 0, count: 64 << 10), transferClass: .foreground, directory: "/a", fileName: "f")
    #expect(specification.rejectionReason == nil)
    specification.body.append(0)
    #expect(specification.rejectionReason != nil)
  }
}
