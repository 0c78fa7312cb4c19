import Basics
import StrictYAML
import Testing

@testable import Sandbox

/// `network` of a policy: which hosts and ports, and nothing that two readers could understand in two ways.
@Suite(.timeLimit(.minutes(1))) struct NetworkPolicyTests {
  private func read(_ text: String, parent: String = "") throws(YAMLFileError) -> PolicyFile {
    let extends = parent.isEmpty ? "" : "extends: ./p.yaml\n"
    return try PolicyFile(parsing: "version: 2\n" + extends + text, file: "main.yaml") {
      (_) throws(PolicyFile.Unreadable) in "version: 2\n" + parent
    }
  }

  private func endpoints(_ text: String, parent: String = "") throws -> [String] {
    try read(text, parent: parent).policy.network.map(\.text)
  }

  @Test(
    "hosts are read in their usual form",
    arguments: [
      ("[example.org:443]", ["example.org:443"]), ("[EXAMPLE.org:443]", ["example.org:443"]), ("[]", []),
      ("[\"10.0.0.5:80\", \"10.0.0.5:8080\"]", ["10.0.0.5:80", "10.0.0.5:8080"]),
      ("[{host: 10.0.0.5, ports: [80, 8080]}]", ["10.0.0.5:80", "10.0.0.5:8080"]),
      ("[{ports: [\"1\", 65535], host: \"2001:DB8:0::1\"}]", ["[2001:db8::1]:1", "[2001:db8::1]:65535"]),
      ("[\"[::1]:443\"]", ["[::1]:443"]),
      ("[xn--bcher-kva.example:80, a-b.c-9:1]", ["xn--bcher-kva.example:80", "a-b.c-9:1"]),
      ("[localhost:1]", ["localhost:1"]), ("none", []),
    ])
  func reads(_ text: String, _ expected: [String]) throws { #expect(try endpoints("network: \(text)") == expected) }

  @Test(
    "what isn't one host and one port is refused with its place",
    arguments: [
      ("all", 10, "none, pairs, or a list"), ("[pairs]", 11, "has no port"), ("{host: a, ports: [1]}", 10, "a list"),
      ("[a]", 11, "has no port"),
      ("[\"a:0\"]", 11, "1 to 65535"), ("[\"a:65536\"]", 11, "1 to 65535"), ("[\"a:080\"]", 11, "1 to 65535"),
      ("[\"a:+1\"]", 11, "1 to 65535"), ("[\"a:http\"]", 11, "1 to 65535"), ("[\"a:\"]", 11, "1 to 65535"),
      ("[\":1\"]", 11, "is empty"), ("[\"a b:1\"]", 11, "letters, digits"), ("[\"a_b:1\"]", 11, "letters, digits"),
      ("[\"*.example:1\"]", 11, "letters, digits"), ("[\"a..b:1\"]", 11, "empty part"),
      ("[\"a.:1\"]", 11, "empty part"),
      ("[\"-a:1\"]", 11, "begins or ends"), ("[\"bücher.example:1\"]", 11, "xn--"),
      ("[\"a/b:1\"]", 11, "letters, digits"),
      ("[\"http://a:1\"]", 11, "brackets"), ("[\"a%00:1\"]", 11, "letters, digits"),
      ("[\"a\\0:1\"]", 11, "letters, digits"),
      ("[\"a\\nb:1\"]", 11, "letters, digits"), ("[\"127.1:1\"]", 11, "usual form"),
      ("[\"2130706433:1\"]", 11, "usual form"),
      ("[\"0x7f.0x1:1\"]", 11, "usual form"), ("[\"1.2.3.04:1\"]", 11, "usual form"),
      ("[\"0.0.0.0:1\"]", 11, "no machine"),
      ("[\"255.255.255.255:1\"]", 11, "no single"), ("[\"224.0.0.1:1\"]", 11, "no single"),
      ("[\"[::]:1\"]", 11, "no machine"), ("[\"[ff02::1]:1\"]", 11, "no single"),
      ("[\"[fe80::1]:1\"]", 11, "link-local"),
      ("[\"[::ffff:127.0.0.1]:1\"]", 11, "write 127.0.0.1"), ("[\"[fe80::1%eth0]:1\"]", 11, "letters, digits"),
      ("[\"::1:443\"]", 11, "brackets"), ("[\"[a]:1\"]", 11, "brackets"), ("[1]", 11, "has no port"),
      ("[{host: a}]", 11, "needs 'ports'"), ("[{host: a, ports: []}]", 11, "at least one"),
      ("[{ports: [1]}]", 11, "needs 'host'"),
      ("[{host: a, ports: 80}]", 28, "list"), ("[{host: a, ports: [0]}]", 29, "1 to 65535"),
      ("[{host: \"a:1\", ports: [1]}]", 18, "letters, digits"),
      ("[{host: \"[::1]\", ports: [1]}]", 18, "letters, digits"),
      ("[{host: a, ports: [1], udp: true}]", 33, "host, ports"), ("[\"a:1\", \"A:1\"]", 18, "twice"),
      ("[{host: a, ports: [1, 1]}]", 11, "twice"), ("[[a]]", 11, "single value"),
    ])
  func refuses(_ text: String, _ column: Int, _ words: String) throws {
    let error = try #require(throws: YAMLFileError.self) { try read("network: \(text)") }
    #expect(error.line == 2 && error.column == column && error.message.contains(words), "\(error)")
  }

  @Test("a list adds to the parent's and warns, and none takes it back") func extends() throws {
    let parent = "network: [a:1, b:2]\n"
    #expect(try endpoints("network: [c:3, a:1]", parent: parent) == ["a:1", "b:2", "c:3"])
    let warnings = try read("network: [a:1, {host: c, ports: [3, 4]}]", parent: parent).warnings
    #expect(warnings.map(\.column) == [16, 16] && warnings.allSatisfy { $0.message.contains("\"p.yaml\" allows") })
    #expect(warnings.first?.message.contains("connections to c:3") == true)
    let none = try read("network: none", parent: parent)
    #expect(none.policy == Policy() && none.warnings.isEmpty)
    #expect(try read("network: [a:1]", parent: parent).warnings.isEmpty)
  }

  @Test("pairs of sockets are less than any host and more than none") func pairs() throws {
    let own = try read("network: pairs").policy
    #expect(own.socketPairs && own.network.isEmpty && own.hasNetwork)
    let warnings = try read("network: pairs", parent: "network: none\n").warnings
    #expect(warnings.map(\.column) == [10] && warnings[0].message.contains("pairs of sockets"), "\(warnings)")
    for parent in ["network: [a:1]\n", "network: pairs\n"] {
      let child = try read("network: pairs", parent: parent)
      #expect(child.policy == own && child.warnings.isEmpty, "takes the hosts back: \(parent)")
      #expect(try read("network: none", parent: parent).policy == Policy())
    }
    #expect(try endpoints("network: [a:1]", parent: "network: pairs\n") == ["a:1"])
    #expect(try read("network: [a:1]", parent: "network: pairs\n").warnings.count == 1)
  }

  @Test("what would keep the connections away is a contradiction, in a parent, too")
  func contradictions() throws {
    for calls in ["deny: [socket]", "deny: [sockets]", "deny: [connect]", "kill: [socket]", "kill: [sockets]"] {
      let error = try #require(throws: YAMLFileError.self) { try read("network: [a:1]\nsystemCalls: {\(calls)}") }
      #expect(error.message.contains("denies"), "\(error)")
      let inherited = try #require(throws: YAMLFileError.self) {
        try read("network: [a:1]", parent: "systemCalls: {\(calls)}\n")
      }
      #expect(inherited.file == "main.yaml" && inherited.line == 3, "\(inherited)")
      let paired = try #require(throws: YAMLFileError.self) { try read("network: pairs\nsystemCalls: {\(calls)}") }
      #expect(paired.message.contains("pairs of sockets"), "\(paired)")
    }
    #expect(try read("network: none\nsystemCalls: {deny: [sockets]}").policy.network.isEmpty)
  }

  @Test("there are at most 64, with the parent's") func bound() throws {
    let ports = { (first: Int, count: Int) in (first..<first + count).map(String.init).joined(separator: ",") }
    #expect(try endpoints("network: [{host: a, ports: [\(ports(1, 64))]}]").count == 64)
    #expect(throws: YAMLFileError.self) { try read("network: [{host: a, ports: [\(ports(1, 65))]}]") }
    #expect(throws: YAMLFileError.self) {
      try read(
        "network: [{host: a, ports: [\(ports(1, 33))]}]", parent: "network: [{host: b, ports: [\(ports(1, 32))]}]\n")
    }
    let many = (0..<60_000).map { "a\($0):1" }.joined(separator: ",")
    #expect(throws: YAMLFileError.self) { try read("network: [\(many)]") }
  }

  @Test("what is read is written so that it is read again", arguments: 0..<20 as Range<UInt64>) func random(
    seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<200 {
      let length = Int.random(in: 0..<24, using: &random)
      let letters = Array("aZ09.-:[]% \u{e9}/xX")
      let text = String((0..<length).map { _ in letters.randomElement(using: &random) ?? "a" })
      guard let endpoint = try? NetworkEndpoint(text) else { continue }
      #expect(try NetworkEndpoint(endpoint.text) == endpoint)
      #expect(endpoint.text.utf8.allSatisfy { (0x21...0x7e).contains($0) })
    }
  }

  // MARK: The filter

  private func verdict(_ name: String, _ arguments: [UInt64], connects: Bool) throws -> FilterMachine.Verdict {
    var options = SeccompProgram.Options()
    options.connects = connects
    let number = try #require(SystemCalls.number(of: name))
    return try FilterMachine(SeccompProgram(options).bytes).run(.init(number: UInt32(number), arguments: arguments))
  }

  @Test(
    "with hosts the filter lets TCP connect, and nothing of it otherwise",
    arguments: [
      ("socket", [2, 1, 0]), ("socket", [2, 1, 6]), ("socket", [10, 0o2004001, 6]), ("socket", [10, 0o2000001, 0]),
      ("connect", [3, 0, 16]), ("accept4", [5, 0, 0, 0]), ("setsockopt", [3, 6, 1]), ("setsockopt", [3, 1, 9]),
      ("setsockopt", [3, 41, 26]), ("getsockopt", [3, 6, 1]),
    ] as [(String, [UInt64])])
  func connects(_ name: String, _ arguments: [UInt64]) throws {
    #expect(try verdict(name, arguments, connects: true) == .allow)
    #expect(try verdict(name, arguments, connects: false) == .notify)
  }

  @Test(
    "other sockets, listeners and buffers of the plugin's own choice stay refused",
    arguments: [
      ("socket", [2, 2, 0]), ("socket", [2, 3, 1]), ("socket", [2, 3, 6]), ("socket", [2, 1, 262]),
      ("socket", [2, 1, 132]),
      ("socket", [1, 1, 0]), ("socket", [16, 3, 0]), ("socket", [17, 3, 0]), ("socket", [40, 1, 0]),
      ("socket", [2, 5, 0]),
      ("socketpair", [1, 1, 0]), ("bind", [3, 0, 16]), ("listen", [3, 1]), ("accept", [3, 0, 0]),
      ("setsockopt", [3, 1, 7]), ("setsockopt", [3, 1, 8]), ("setsockopt", [3, 1, 32]), ("setsockopt", [3, 6, 31]),
      ("setsockopt", [3, 0, 19]), ("setsockopt", [3, 1, 25]), ("setsockopt", [3, 1, 60]), ("setsockopt", [3, 6, 13]),
      ("getsockopt", [3, 1, 17]), ("sendmmsg", [3, 0, 1]),
    ] as [(String, [UInt64])])
  func refuses(_ name: String, _ arguments: [UInt64]) throws {
    #expect(try verdict(name, arguments, connects: true) == .notify)
    #expect(try verdict(name, arguments, connects: false) == .notify)
  }
}
