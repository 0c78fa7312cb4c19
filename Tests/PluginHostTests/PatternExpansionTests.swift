import Sandbox
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct PatternExpansionTests {
  private func expansion(_ folders: [String: [String]]) -> PatternExpansion {
    PatternExpansion { folder, most in folders[folder].map { Array($0.prefix(most)) } }
  }

  private func policy(_ access: PatternGrant.Access, _ text: String, isOptional: Bool = false) throws -> Policy {
    var policy = Policy()
    policy.patterns = [PatternGrant(access, try PathPattern(text), isOptional: isOptional)]
    return policy
  }

  @Test func findsWhatIsThere() throws {
    let folders = ["/srv": ["b", "a", ".hidden", "c.d"], "/srv/a": ["x.db", "y"], "/srv/b": ["z.db"]]
    var found = expansion(folders)
    #expect(try found.paths(of: PathPattern("/srv/*")) == ["/srv/a", "/srv/b", "/srv/c.d"])
    #expect(try found.paths(of: PathPattern("/srv/*/*.db")) == ["/srv/a/x.db", "/srv/b/z.db"])
    #expect(try found.paths(of: PathPattern("/none/*")).isEmpty)
  }

  @Test(arguments: PatternGrant.Access.allCases) func grantsBecomePaths(_ access: PatternGrant.Access) throws {
    var found = expansion(["/srv": ["a", "b"]])
    let policy = try found.resolve(try policy(access, "/srv/*")) { _ in true }
    let paths = ["/srv/a", "/srv/b"]
    #expect(policy.patterns.isEmpty)
    #expect(policy.read == (access == .read ? paths : []) && policy.write == (access == .write ? paths : []))
    #expect(policy.libraries == (access == .execute ? paths : []) && policy.list == (access == .list ? paths : []))
    #expect(policy.mapsCodeLater == (access == .execute))
  }

  @Test("two names that look the same are both granted") func spellings() throws {
    var found = expansion(["/srv": ["\u{e9}", "e\u{301}"]])
    #expect(try found.resolve(try policy(.read, "/srv/*")) { _ in true }.read.count == 2)
  }

  @Test func nothingIsAnErrorUnlessItMayBe() throws {
    var found = expansion(["/srv": []])
    #expect(throws: HostError.self) { try found.resolve(try policy(.read, "/srv/*")) { _ in true } }
    var optional = try policy(.execute, "/srv/*", isOptional: true)
    optional.read = ["/there", "/gone"]
    optional.optional = ["/there", "/gone"]
    let resolved = try found.resolve(optional) { $0 == "/there" }
    #expect(resolved.read == ["/there"] && resolved.libraries.isEmpty && resolved.optional.isEmpty)
    #expect(resolved.mapsCodeLater, "what may become code doesn't hang on what is there")
    #expect(try found.resolve(resolved) { _ in false } == resolved, "once is enough")
  }

  @Test func isBounded() throws {
    let many = (0..<2000).map { "\($0)" }
    var found = expansion(["/srv": many])
    #expect(throws: HostError.self) { try found.resolve(try policy(.read, "/srv/*")) { _ in true } }
    #expect(throws: HostError.self) { try found.paths(of: PathPattern("/srv/*/x*")) }
    // A folder whose names have no end.
    var asked = 0
    var endless = PatternExpansion { _, most in
      asked += most
      return (0..<most).map { "n\($0)" }
    }
    #expect(throws: HostError.self) { try endless.paths(of: PathPattern("/srv/x*")) }
    #expect(asked <= 65_537)
  }
}
