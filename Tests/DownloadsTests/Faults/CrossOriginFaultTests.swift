import AssetModel
import DevelopmentOrigin
import Downloads
import Foundation
import Synchronization
import Testing

/// Group B of the fault corpus: what is meant for one origin, and the borders of that.
@Suite(.timeLimit(.minutes(2))) struct CrossOriginFaultTests {
  /// A server that wants a token of its own under each of its names.
  private static func wantsToken(_ request: RecordedRequest) -> Reply? {
    guard request.header("Authorization") != "Bearer for-\(host(request))" else { return nil }
    return .with {
      $0.status = 401
      $0.setHeaders = [HeaderField("WWW-Authenticate", "Bearer realm=\"same\"")]
    }
  }

  private static func host(_ request: RecordedRequest) -> String {
    String((request.header("Host") ?? "").prefix { $0 != ":" })
  }

  private static func port(_ request: RecordedRequest) -> Substring {
    (request.header("Host") ?? "").drop { $0 != ":" }.dropFirst()
  }

  private static func withOther(_ configuration: inout OriginConfiguration) {
    configuration.resources["/other"] = Resource(Trial.content)
  }

  @Test("F-35 another name at the same port is another origin, and is asked for by its own name")
  func otherName() async throws {
    let asked = Mutex<[String]>([])
    let trial = try await Trial.run(
      configure: Self.withOther,
      options: {
        $0.answerChallenge = { challenge in
          asked.withLock { $0.append(challenge.origin) }
          return .bearer(token: challenge.origin.contains("localhost") ? "for-localhost" : "for-127.0.0.1")
        }
      },
      reply: { request, _ in
        if let refusal = Self.wantsToken(request) { return refusal }
        return request.path == Trial.path
          ? .with { $0.redirect = .to("http://localhost:\(Self.port(request))/other") } : nil
      })
    #expect(trial.isFinished, "\(trial.end)")
    #expect(
      trial.requests.map { $0.header("Authorization") } == [nil, "Bearer for-127.0.0.1", nil, "Bearer for-localhost"])
    let port = try Self.port(#require(trial.requests.first))
    #expect(asked.withLock { $0 } == ["http://127.0.0.1:\(port)", "http://localhost:\(port)"])
  }

  @Test("F-35 headers of the client's stay behind for the whole way, there and back") func thereAndBack() async throws {
    let scene = try await Scene(
      specification: { $0.headers = [Download.Header(name: "X-Key", value: "secret")] },
      configure: Self.withOther,
      reply: { request, _ in
        switch (Self.host(request), request.path) {
        case ("127.0.0.1", Trial.path):
          .with { $0.redirect = .to("http://localhost:\(Self.port(request))/step") }
        case ("localhost", "/step"): .with { $0.redirect = .to("/step2") }
        case ("localhost", "/step2"):
          .with { $0.redirect = .to("http://127.0.0.1:\(Self.port(request))/other") }
        default: nil
        }
      })
    #expect(try await scene.end().isFinished && scene.isWhole)
    #expect(scene.origin.requests.map(\.path) == [Trial.path, "/step", "/step2", "/other"])
    #expect(scene.origin.requests.map { $0.header("X-Key") } == ["secret", nil, nil, nil])
    _ = try await scene.close()
  }

  @Test("F-35 the answer to a challenge takes the place of what the client had said") func replaced() async throws {
    let scene = try await Scene(
      specification: { $0.headers = [Download.Header(name: "authorization", value: "Bearer old")] },
      options: { $0.answerChallenge = { _ in .bearer(token: "for-127.0.0.1") } },
      reply: { request, _ in Self.wantsToken(request) })
    #expect(try await scene.end().isFinished && scene.isWhole)
    let sent = scene.origin.requests.map { $0.headers.filter { $0.name.lowercased() == "authorization" }.map(\.value) }
    #expect(sent == [["Bearer old"], ["Bearer for-127.0.0.1"]])
    _ = try await scene.close()
  }

  @Test("F-39 a digest is of the target that is asked for, its query included") func query() async throws {
    let trial = try await Trial.run(
      configure: {
        $0.authentication = .digest(user: "user", password: "pass")
        Self.withOther(&$0)
      },
      options: { $0.answerChallenge = { _ in .credential(user: "user", password: "pass") } },
      reply: { request, _ in request.path == Trial.path ? .with { $0.redirect = .to("/other?part=1&of=2") } : nil })
    #expect(trial.isFinished, "\(trial.end)")
    #expect(trial.requests.map(\.target) == ["/file", "/file", "/other?part=1&of=2"])
  }

  @Test(
    "F-39 a credential is for its realm: another one is asked for, whatever is called stale", arguments: [true, false])
  func realm(isAnother: Bool) async throws {
    let realms = Mutex<[String]>([])
    let trial = try await Trial.run(
      options: {
        $0.answerChallenge = { challenge in
          guard case .credentials(_, let realm, _) = challenge.kind else { return .cancel }
          realms.withLock { $0.append(realm) }
          return realm == "one" ? .credential(user: "user", password: "pass") : .cancel
        }
      },
      reply: { _, nth in
        guard nth <= 2 else { return nil }
        let realm = nth == 2 && isAnother ? "two" : "one"
        return .with {
          $0.status = 401
          $0.setHeaders = [
            HeaderField(
              "WWW-Authenticate", "Digest realm=\"\(realm)\", qop=\"auth\", nonce=\"n\(nth)\", stale=\(nth == 2)")
          ]
        }
      })
    #expect(trial.isFinished != isAnother && trial.requests.count == (isAnother ? 2 : 3), "\(trial.end)")
    #expect(realms.withLock { $0 } == (isAnother ? ["one", "two"] : ["one"]))
  }
}
