import AssetModel
import Foundation
import LinuxSystem
import Testing

@testable import DevelopmentOrigin
@testable import Downloads

/// Group B of the fault corpus: hosts that are asked without the proxy.
@Suite(.timeLimit(.minutes(2))) struct ProxyExceptionFaultTests {
  @Test("F-34 a host that is asked without the proxy is checked by its own address") func directIsChecked() async throws
  {
    let proxy = try Origin { $0.isProxy = true }
    defer { proxy.stop() }
    let address = proxy.url
    let harness = try Harness {
      $0.transport.proxy = address
      $0.transport.noProxy = "inside.test"
      $0.transport.resolve = ["inside.test:443:10.0.0.1"]
    }
    let end = try await harness.fetch(harness.specification("https://inside.test/file"))
    #expect(end.reason == .notAllowed && proxy.requests.isEmpty, "\(end)")
    await harness.engine.close()
  }

  @Test("F-37 with and without the proxy, one after the other") func byTurns() async throws {
    let proxy = try Origin { $0.isProxy = true }
    let origin = try Origin {
      ProxyFaultTests.secure(&$0)
      $0.resources["/file"] = Resource(.text("hello"))
    }
    defer {
      proxy.stop()
      origin.stop()
    }
    let address = proxy.url
    let harness = try Harness {
      $0.transport.authorityFile = Authority.shared.path
      $0.transport.proxy = address
      $0.transport.noProxy = "localhost"
    }
    for (host, name) in [("127.0.0.1", "a"), ("localhost", "b"), ("127.0.0.1", "c"), ("localhost", "d")] {
      let url = "https://\(host):\(origin.port)/file"
      #expect(try await harness.fetch(harness.specification(url, name: name)).isFinished)
    }
    #expect((1...2).contains(proxy.requests.count) && proxy.requests.allSatisfy { $0.target.hasPrefix("127.0.0.1:") })
    #expect(origin.requests.count == 4)
    await harness.engine.close()
  }

  @Test("F-34 an address in place of a name isn't handed to a proxy", arguments: ["", "203.0.113.0/24"])
  func literal(noProxy: String) async throws {
    let proxy = try Origin {
      $0.isProxy = true
      $0.handler = { _, _ in .status(403) }
    }
    defer { proxy.stop() }
    let address = proxy.url
    let harness = try Harness {
      $0.transport.proxy = address
      $0.transport.noProxy = noProxy
      $0.transport.hosts.allowsAddressLiterals = true
      $0.transport.addresses.exceptions = []
    }
    let end = try await harness.fetch(harness.specification("https://203.0.113.7/file"))
    #expect(end.reason == .notAllowed && proxy.requests.isEmpty, "\(end)")
    // Where it is connected to directly, its kind decides.
    let why = noProxy.isEmpty ? "only names are asked" : "documentation"
    #expect(end.failure?.detail.contains(why) == true, "\(end)")
    await harness.engine.close()
  }

  @Test(
    arguments: [
      ("example.com", "", false), ("example.com", "*", true), ("example.com", "example.com", true),
      ("a.example.com", "example.com", true), ("a.example.com", ".example.com", true),
      ("example.com", ".example.com", true), ("a.example.com", "*.example.com", true),
      ("badexample.com", "example.com", false), ("example.com.evil", "example.com", false),
      ("EXAMPLE.com", "example.COM", true), ("x.org", "a.org, x.org", true), ("x.org", "a.org x.org", true),
      ("x.org", "a.org,,.", false), ("10.1.2.3", "10.0.0.0/8", true), ("11.1.2.3", "10.0.0.0/8", false),
      ("10.1.2.3", "10.1.2.3", true), ("10.1.2.3", "3", false), ("[::1]", "::1", true), ("[::1]", "[::1]", true),
      ("[fd00::5]", "fd00::/8", true), ("host", "10.0.0.0/8", false),
    ] as [(String, String, Bool)])
  func direct(host: String, noProxy: String, expected: Bool) {
    #expect(ProxyRules.isDirect(host, noProxy: noProxy) == expected)
  }
}
