import AssetModel
import Downloads
import Foundation
import Testing

@testable import DevelopmentOrigin

/// Group B of the fault corpus: pages that want a cookie, as those for a login or a consent do.
@Suite(.timeLimit(.minutes(1))) struct RedirectCookieFaultTests {
  private static func redirect(_ target: String, _ cookies: String...) -> Reply {
    .with {
      $0.redirect = .to(target)
      $0.setHeaders = cookies.map { HeaderField("Set-Cookie", $0) }
    }
  }

  @Test("F-32 a redirect to itself with a cookie is followed once") func wall() async throws {
    let trial = try await Trial.run { request, _ in
      request.header("Cookie") == nil ? Self.redirect(Trial.path, "seen=secret-1; Path=/; HttpOnly") : nil
    }
    #expect(trial.isFinished)
    #expect(trial.requests.map { $0.header("Cookie") } == [nil, "seen=secret-1"])
  }

  @Test("F-32 the same cookie again is a circle") func sameCookie() async throws {
    let trial = try await Trial.run { _, _ in Self.redirect(Trial.path, "seen=1") }
    #expect(trial.failure == .refused && trial.requests.count == 2)
  }

  @Test("F-32 another cookie each time ends with the chain") func everyTimeAnother() async throws {
    let trial = try await Trial.run { _, nth in Self.redirect(Trial.path, "seen=\(nth)") }
    #expect(trial.failure == .refused && trial.requests.count == 11)
    if case .failed(let failure) = trial.end { #expect(!failure.detail.contains("seen="), "\(failure.detail)") }
  }

  @Test("F-32 by way of another origin, which gets no cookie of the first") func otherOrigin() async throws {
    let login = try Origin { configuration in
      configuration.handler = { request, _ in
        let back = request.target.split(separator: "=", maxSplits: 1).last.map(String.init) ?? ""
        return Self.redirect(back, "session=of-the-login; Domain=127.0.0.1; Path=/")
      }
    }
    defer { login.stop() }
    let trial = try await Trial.run { request, nth in
      guard request.header("Cookie")?.contains("ticket") != true else { return nil }
      let here = "http://\(request.header("Host") ?? "")\(Trial.path)"
      return nth == 1
        ? Self.redirect(login.url("/login?back=\(here)"), "first=1") : Self.redirect(Trial.path, "ticket=2")
    }
    #expect(trial.isFinished)
    #expect(login.requests.map { $0.header("Cookie") } == [nil])
    #expect(trial.requests.map { $0.header("Cookie") } == [nil, "first=1", "first=1; ticket=2"])
  }

  @Test("F-32 a cookie that an answer sets is no other download's") func otherDownload() async throws {
    let origin = try Origin {
      $0.resources["/a"] = Resource(.text("a"))
      $0.resources["/b"] = Resource(.text("b"))
      $0.handler = { request, _ in
        request.path == "/a" && request.header("Cookie") == nil ? Self.redirect("/a", "seen=1; Path=/") : nil
      }
    }
    defer { origin.stop() }
    let harness = try Harness()
    for name in ["a", "b"] { _ = try await harness.fetch(harness.specification(origin.url("/\(name)"), name: name)) }
    await harness.engine.close()
    #expect(origin.requests(for: "/b").map { $0.header("Cookie") } == [nil])
    #expect(origin.requests(for: "/a").map { $0.header("Cookie") } == [nil, "seen=1"])
  }
}
