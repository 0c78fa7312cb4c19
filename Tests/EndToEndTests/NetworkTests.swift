import Foundation
import Glibc
import PluginHost
import Sandbox
import Synchronization
import TestSupport
import Testing

/// `network` of a policy under the real walls: a plugin reaches what is listed, through its host, and nothing else.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct NetworkTests {
  /// A server of the machine's own loopback.
  final class Server: Sendable {
    enum Behaviour { case answers, holds, ignores }

    let port: Int
    private let descriptor: Int32
    private let accepted = Mutex<[Int32]>([])

    init(_ behaviour: Behaviour = .answers) throws {
      let made = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      var place = sockaddr_in()
      place.sin_family = sa_family_t(AF_INET)
      place.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      withUnsafeMutablePointer(to: &place) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          #expect(bind(made, $0, length) == 0 && listen(made, 128) == 0 && getsockname(made, $0, &length) == 0)
        }
      }
      descriptor = made
      port = Int(UInt16(bigEndian: place.sin_port))
      if behaviour != .ignores { Thread { [self] in serve(behaviour) }.start() }
    }

    /// Also wakes the thread that accepts.
    func stop() {
      shutdown(descriptor, Int32(SHUT_RDWR))
      for connection in accepted.withLock({ $0 }) where connection >= 0 { close(connection) }
      close(descriptor)
    }

    /// How many have come.
    var count: Int { accepted.withLock { $0.count } }
    var last: Int32? { accepted.withLock { $0.last } }

    private func serve(_ behaviour: Behaviour) {
      while true {
        let connection = accept(descriptor, nil, nil)
        guard connection >= 0 else { return }
        accepted.withLock { $0.append(behaviour == .holds ? connection : -1) }
        guard behaviour == .answers else { continue }
        var request = [UInt8](repeating: 0, count: 4096)
        if recv(connection, &request, request.count, 0) > 0 {
          let answer = Array("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello".utf8)
          _ = send(connection, answer, answer.count, Int32(MSG_NOSIGNAL))
        }
        close(connection)
      }
    }
  }

  private final class Scene {
    let folder: String
    let host: PluginHost

    init() throws {
      folder = try LibraryTests.folder()
      try LibraryTests.compile(NetworkPlugin.source, "-o network.so", in: folder)
      host = try Workspace.host()
    }

    deinit {
      host.stop()
      try? FileManager.default.removeItem(atPath: folder)
    }

    func load(_ network: String..., change: (inout Policy) throws -> Void = { _ in }) async throws -> Plugin {
      var policy = Policy()
      policy.network = try network.map { try NetworkEndpoint($0) }
      try change(&policy)
      return try await host.load("\(folder)/network.so", policy: policy)
    }
  }

  private static let reach = "i64(cstring,i32)"
  private static let refused = -Int64(ECONNREFUSED)

  @Test("a plugin fetches from what is listed, by address and by name, and the report says how much")
  func fetches() async throws {
    let (scene, server) = (try Scene(), try Server())
    defer { server.stop() }
    let plugin = try await scene.load("127.0.0.1:\(server.port)", "localhost:\(server.port)")
    for host in ["127.0.0.1", "localhost", "localhost"] {
      let result = try await plugin.call("fetch", Self.reach, .text(host), .integer(Int64(server.port)))
      #expect(result.value == .signed(43), "\(host)")
    }
    let report = await plugin.end()
    #expect(report.denials.isEmpty, "\(report.denials)")
    #expect(report.connections.map(\.count) == [1, 2] && report.connections.map(\.received) == [43, 86])
    #expect(report.connections.map(\.sent) == [18, 36] && report.connections.allSatisfy { $0.failed == 0 })
    #expect(report.walls[.networkNamespace]?.state == .full)
  }

  @Test("the machine's own services, other ports and other addresses are refused and reported") func refuses()
    async throws
  {
    let (scene, listed, other) = (try Scene(), try Server(), try Server())
    defer {
      listed.stop()
      other.stop()
    }
    let plugin = try await scene.load("127.0.0.1:\(listed.port)", "a.example:443")
    let places: [(String, Int, String)] = [
      ("127.0.0.1", other.port, "127.0.0.1:\(other.port)"), ("127.1.2.3", listed.port, "127.1.2.3:\(listed.port)"),
      ("::1", listed.port, "[::1]:\(listed.port)"), ("10.0.0.1", 80, "10.0.0.1:80"),
      ("192.0.2.2", listed.port, "192.0.2.2:\(listed.port)"), ("169.254.169.254", 80, "169.254.169.254:80"),
      ("2001:db8::1", 443, "[2001:db8::1]:443"), ("a.example", 80, "a.example:80"), ("localhost", 22, "localhost:22"),
      ("b.example", 443, "b.example:443"), ("B.Example.", 8443, "b.example:8443"),
    ]
    for (host, port, _) in places {
      let result = try await plugin.call("reach", Self.reach, .text(host), .integer(Int64(port)))
      #expect(result.value == .signed(Self.refused), "\(host):\(port)")
    }
    #expect(try await plugin.call("lookup", "i64(cstring)", "c.example").value == .signed(127))
    #expect(try await plugin.call("lookup", "i64(cstring)", "_no.machine").value.isLess(than: -1000))
    let report = await plugin.end()
    let network = report.denials.filter { $0.wall == "network" }
    #expect(network.filter { $0.operation == "connect" }.map(\.target) == places.map(\.2))
    #expect(network.filter { $0.operation == "lookup" }.map(\.target) == ["c.example"])
    #expect(other.count == 0 && listed.count == 0 && report.connections.isEmpty)
  }

  @Test("two runs at once don't reach each other's hosts") func apart() async throws {
    let (scene, first, second) = (try Scene(), try Server(), try Server())
    defer {
      first.stop()
      second.stop()
    }
    let one = try await scene.load("127.0.0.1:\(first.port)")
    let two = try await scene.load("127.0.0.1:\(second.port)")
    for (plugin, own, foreign) in [(one, first, second), (two, second, first)] {
      let reached = try await plugin.call("fetch", Self.reach, "127.0.0.1", .integer(Int64(own.port)))
      #expect(reached.value == .signed(43))
      let denied = try await plugin.call("reach", Self.reach, "127.0.0.1", .integer(Int64(foreign.port)))
      #expect(denied.value == .signed(Self.refused))
    }
    _ = await one.end()
    let still = try await two.call("fetch", Self.reach, "127.0.0.1", .integer(Int64(second.port)))
    #expect(still.value == .signed(43))
    _ = await two.end()
    #expect(first.count == 1 && second.count == 2)
  }

  @Test("other sockets, listeners and the plugin's own buffers stay refused") func misuse() async throws {
    let scene = try Scene()
    let plugin = try await scene.load("127.0.0.1:9")
    // UDP, raw, UDP over IPv6 with flags, ICMP, Unix, netlink, packet, vsock, SCTP, MPTCP.
    let kinds: [(Int64, Int64, Int64)] = [
      (2, 2, 0), (2, 3, 6), (10, 0o2000002, 0), (2, 2, 1), (1, 1, 0), (16, 3, 0), (17, 3, 0), (40, 1, 0), (2, 1, 132),
      (2, 1, 262),
    ]
    for (family, type, number) in kinds {
      let made = try await plugin.call("make", "i64(i32,i32,i32)", .integer(family), .integer(type), .integer(number))
      #expect(made.value == .signed(-Int64(EAFNOSUPPORT)), "\(family) \(type) \(number)")
    }
    let codes: [Int64] = [-Int64(EPERM), -Int64(EPERM), -Int64(EPERM), -Int64(EISCONN), Self.refused, 0]
    for (which, code) in codes.enumerated() {
      let result = try await plugin.call("misuse", "i64(i32,i32)", .integer(Int64(which)), 10)
      #expect(result.value == .signed(code) || which == 3 && result.value != .signed(0), "\(which): \(result)")
    }
    let report = await plugin.end()
    for name in ["socket", "bind", "listen", "setsockopt"] {
      #expect(report.denials.contains { $0.wall == "seccomp" && $0.operation == name }, "\(name)")
    }
    #expect(report.denials.contains { $0.target == "127.0.0.1:10" }, "also without connect(2): \(report.denials)")
  }

  @Test("without hosts in its policy a plugin has no socket") func withoutHosts() async throws {
    let scene = try Scene()
    let plugin = try await scene.load()
    #expect(try await plugin.call("make", "i64(i32,i32,i32)", 2, 1, 0).value == .signed(-Int64(EAFNOSUPPORT)))
    #expect(try await plugin.call("pairs", "i64(i32)", 1).value == .signed(-Int64(EAFNOSUPPORT)))
    #expect(await plugin.end().denials.map(\.operation) == ["socket", "socketpair"])
  }

  @Test("thousands of connections cost what is bounded, and a neighbour is answered meanwhile") func floods()
    async throws
  {
    let (scene, server) = (try Scene(), try Server(.holds))
    defer { server.stop() }
    let target = Int64(server.port)
    let plugin = try await scene.load("127.0.0.1:\(server.port)") { $0.limits.openFiles = 128 }
    let neighbour = try await scene.host.load("libc.so.6")
    async let flood = plugin.call("many", "i64(i32,i32,i32)", .integer(target), 4000, 0)
    for _ in 0..<50 { #expect(try await neighbour.call("abs", "i32(i32)", -7).value == .signed(7)) }
    _ = try await flood
    let kept = try await plugin.call("many", "i64(i32,i32,i32)", .integer(target), 1000, 1)
    #expect(kept.value.isLess(than: 128) && !kept.value.isLess(than: 1), "\(kept)")
    #expect(try await plugin.call("scan", "i64(i32)", 3000).value == .signed(-1))
    let report = await plugin.end()
    _ = await neighbour.end()
    #expect(report.outcome.kind == .returned && report.denials.count <= 257, "\(report.outcome)")
    let row = try #require(report.connections.first)
    let refused = report.denials.filter { $0.wall == "limits" && $0.operation == "connect" }.reduce(0) {
      $0 + $1.count
    }
    #expect(row.count + refused > 1000 && server.count <= row.count, "\(row), \(refused) refused")
  }

  @Test("a server that never reads holds up the plugin alone, until its time is over") func neverReads() async throws {
    let (scene, server) = (try Scene(), try Server(.ignores))
    defer { server.stop() }
    let plugin = try await scene.load("127.0.0.1:\(server.port)") { $0.limits.wallTime = .milliseconds(400) }
    await #expect(throws: HostError.self) { try await plugin.call("pour", "i64(i32)", .integer(Int64(server.port))) }
    let report = await plugin.end()
    #expect(report.outcome.kind == .wallTimeExceeded, "\(report.outcome)")
    #expect(try #require(report.connections.first).sent < 64 << 20)
  }

  @Test("the end of a run closes its connections") func ends() async throws {
    let (scene, server) = (try Scene(), try Server(.holds))
    defer { server.stop() }
    let plugin = try await scene.load("127.0.0.1:\(server.port)")
    #expect(try await plugin.call("keep", "i64(i32)", .integer(Int64(server.port))).value == .signed(0))
    while server.count == 0 { try await Task.sleep(for: .milliseconds(5)) }
    let connection = try #require(server.last)
    _ = await plugin.end()
    var byte: UInt8 = 0
    var count = 0
    repeat { count = recv(connection, &byte, 1, 0) } while count > 0
    #expect(count == 0 || errno == ECONNRESET)
  }

  @Test("where there is no namespace for it, nothing runs") func failsClosed() async throws {
    for wall in [Wall.networkNamespace, .mountNamespace, .userNamespace] {
      let host = try Workspace.host(withoutNamespaces: [wall])
      defer { host.stop() }
      var policy = Policy()
      policy.network = [try NetworkEndpoint("127.0.0.1:1")]
      let error = await #expect(throws: HostError.self) { try await host.load("libc.so.6", policy: policy) }
      #expect(error?.report?.outcome.kind == .wallUnavailable, "\(wall): \(String(describing: error))")
    }
    let scene = try Scene()
    let error = await #expect(throws: HostError.self) { try await scene.load("a:1") { $0.read = ["/etc"] } }
    #expect(error?.description.contains("/etc/hosts") == true)
  }

  @Test("a pair of sockets is one within the run, with hosts or without any", arguments: [["a:1"], []])
  func pairs(hosts: [String]) async throws {
    let scene = try Scene()
    let plugin = try await scene.load {
      $0.network = try hosts.map { try NetworkEndpoint($0) }
      $0.socketPairs = hosts.isEmpty
    }
    #expect(try await plugin.call("pairs", "i64(i32)", 200).value == .signed(0))
    #expect(await plugin.end().denials.isEmpty)
  }

  @Test("with pairs alone nothing can be connected to") func pairsAlone() async throws {
    let (scene, server) = (try Scene(), try Server())
    defer { server.stop() }
    let plugin = try await scene.load { $0.socketPairs = true }
    for host in ["127.0.0.1", "localhost", "machine.invalid"] {
      let result = try await plugin.call("fetch", Self.reach, .text(host), .integer(Int64(server.port)))
      #expect(result.value == .signed(Self.refused), "\(host): \(result)")
    }
    let report = await plugin.end()
    #expect(report.denials.allSatisfy { $0.wall == "network" } && !report.denials.isEmpty, "\(report.denials)")
    #expect(server.count == 0 && report.connections.isEmpty)
  }

  @Test("a trace names the host that the policy lists, and what it doesn't list") func traced() throws {
    let (scene, server, other) = (try Scene(), try Server(), try Server())
    defer {
      server.stop()
      other.stop()
    }
    let policy = "\(scene.folder)/policy.yaml"
    let listed = "\"localhost:\(server.port)\""
    try "version: 2\nnetwork: [\(listed), \"127.0.0.1:1\"]\n".write(toFile: policy, atomically: true, encoding: .utf8)
    func trace(_ options: String..., port: Int) throws -> (String, [String]) {
      let end = try Workspace.run(
        ["call", "--trace", "--policy", policy] + options
          + ["\(scene.folder)/network.so", "fetch", Self.reach, "localhost", "\(port)"])
      return (end.output, end.errors.split(separator: "\n").map(String.init))
    }
    let (result, lines) = try trace(port: server.port)
    #expect(result == "43\n", "\(lines)")
    let made = try #require(lines.last { $0.contains(" connect(") }, "\(lines)")
    #expect(made.hasSuffix(", localhost:\(server.port)) = to the kernel  by policy: network: [\(listed)]"), "\(made)")
    let socket = try #require(lines.last { $0.contains(" socket(AF_INET, SOCK_STREAM, 0)") }, "\(lines)")
    #expect(socket.hasSuffix("= to the kernel  by policy: network: [\(listed), \"127.0.0.1:1\"]"), "\(socket)")
    let refused = try trace(port: other.port).1
    #expect(
      refused.contains {
        $0.contains("localhost:\(other.port)) = refused by network  policy: network: [\"localhost:\(other.port)\"]")
      }, "\(refused)")
    let objects = try trace("--trace-format", "json", "--trace-only", "sockets", port: server.port).1
    #expect(
      objects.contains {
        $0.contains("\"call\":\"connect\"")
          && $0.contains("\"grantedBy\":\"network: [\\\"localhost:\(server.port)\\\"]\"")
      }, "\(objects)")
  }

  @Test("pairs of sockets are recorded, and the recorded policy is enough") func recordedPairs() throws {
    let scene = try Scene()
    let policy = "\(scene.folder)/recorded.yaml"
    let call = ["call", "\(scene.folder)/network.so", "pairs", "i64(i32)", "2"]
    let end = try Workspace.run(["policy", "record", "--output", policy] + call)
    let text = try String(contentsOfFile: policy, encoding: .utf8)
    #expect(end.status == 0 && text.contains("network: pairs  # socketpair\n"), "\(end) \(text)")
    #expect(end.errors.contains("granting makes pairs of sockets"), "\(end)")
    let proof = try Workspace.run(call + ["--policy", policy, "--observe"])
    #expect(proof.output == "0\n" && !proof.errors.contains("denied"), "\(proof)")
  }

  @Test("what a plugin connects to is recorded, by name and port, and the recorded policy is enough") func recorded()
    throws
  {
    let (scene, server) = (try Scene(), try Server())
    defer { server.stop() }
    let policy = "\(scene.folder)/recorded.yaml"
    func record(_ options: String..., host: String) throws -> String {
      let end = try Workspace.run(
        ["policy", "record", "--output", policy] + options
          + ["call", "\(scene.folder)/network.so", "fetch", Self.reach, host, "\(server.port)"])
      #expect([0, 1].contains(end.status), "\(end)")
      return try String(contentsOfFile: policy, encoding: .utf8)
    }
    let named = try record(host: "localhost")
    #expect(named.contains("# not granted: localhost:\(server.port); --network lets it connect"), "\(named)")
    #expect(!named.contains("network:") && server.count == 0)
    let unknown = try record(host: "machine.invalid")
    #expect(unknown.contains("# not granted: machine.invalid:\(server.port); --network lets it connect"), "\(unknown)")
    let granted = try record("--network", host: "localhost")
    #expect(granted.contains("network:\n  - \"localhost:\(server.port)\"  # connect"), "\(granted)")
    let end = try Workspace.run([
      "call", "--json", "--policy", policy, "\(scene.folder)/network.so", "fetch", Self.reach, "localhost",
      "\(server.port)",
    ])
    #expect(end.status == 0 && end.output.contains("\"result\" : 43") || end.output.contains("\"result\":43"), "\(end)")
  }

  @Test("libcurl fetches what is listed, looks names up by its own thread, and hears of what isn't there")
  func libcurl() async throws {
    let (scene, server) = (try Scene(), try Server())
    defer { server.stop() }
    try LibraryTests.compile(NetworkPlugin.curl, "-o curl.so -lcurl", in: scene.folder)
    let policy = "\(scene.folder)/policy.yaml"
    let words = "version: 2\nnetwork: [\"127.0.0.1:\(server.port)\", {host: no-such-host.invalid, ports: [80]}]\n"
    try words.write(toFile: policy, atomically: true, encoding: .utf8)
    func get(_ url: String) throws -> [String: Any] {
      let end = try Workspace.run([
        "call", "--json", "--policy", policy, "\(scene.folder)/curl.so", "get", "i64(cstring)", url,
      ])
      #expect(end.status == 0, "\(end)")
      return try #require(try JSONSerialization.jsonObject(with: Data(end.output.utf8)) as? [String: Any])
    }
    let found = try get("http://127.0.0.1:\(server.port)/")
    #expect(found["result"] as? Int == 5 && (found["denials"] as? [Any])?.isEmpty == true, "\(found)")
    let row = try #require((found["connections"] as? [[String: Any]])?.first)
    #expect(row["target"] as? String == "127.0.0.1:\(server.port)" && row["received"] as? Int == 43)
    // The plugin finds its address, and the host doesn't.
    let lost = try get("http://no-such-host.invalid/")
    #expect(lost["result"] as? Int ?? 0 < 0 && (lost["denials"] as? [Any])?.isEmpty == true, "\(lost)")
    #expect("\(lost["connections"] ?? "")".contains("no-such-host.invalid: "))
    let unlisted = try get("http://127.0.0.1:1/")
    #expect(unlisted["result"] as? Int == -7, "CURLE_COULDNT_CONNECT")
    #expect("\(unlisted["denials"] ?? "")".contains("127.0.0.1:1"))
  }
}

extension CallValue {
  /// Of a signed number.
  fileprivate func isLess(than other: Int64) -> Bool {
    if case .signed(let number) = self { number < other } else { false }
  }
}
