import Foundation
import HostProtocol
import LinuxSystem
import Sandbox
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct GrantTests {
  private static let machine = Machine(
    landlockABI: 7, hasListener: true, hello: .init(missing: [], runtime: [], hasPreloaded: false))

  /// None of them is there, and the host doesn't look: what can't be asked for isn't looked up.
  @Test func tooManyPathsAreRefusedAtOnce() {
    var policy = Policy()
    policy.read = (0..<20_000).map { "/nonexistent/\($0)" }
    do {
      _ = try Grant.all(of: policy, writable: [], machine: Self.machine)
      Issue.record("granted")
    } catch {
      #expect("\(error)".contains("grant folders that hold them"))
    }
  }

  @Test(
    "a folder in one that is read isn't listed only, by whatever name",
    arguments: [
      ("read", "a", "a/b", true), ("write", "a", "a/b", true), ("execute", "a", "a/b", true),
      ("list", "a", "a/b", false),
      ("read", "a/b", "a", false), ("read", "a", "link", true), ("read", "a", "a", true), ("read", "a", "c", false),
      ("read", "a", "/usr/share/zoneinfo", true), ("read", "c", "other", true), ("list", "c", "other", false),
    ])
  func listedWithin(key: String, outer: String, inner: String, isRefused: Bool) throws {
    let folder = try Files.temporaryDirectory(in: "/var/tmp", prefix: "outrider-listed-")
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for name in ["a/b", "c"] {
      try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
    }
    try FileManager.default.createSymbolicLink(atPath: "\(folder)/a/link", withDestinationPath: "b")
    try FileManager.default.createSymbolicLink(atPath: "\(folder)/other", withDestinationPath: "c")
    func path(_ name: String) -> String {
      name.hasPrefix("/") ? name : "\(folder)/\(name == "link" ? "a/link" : name)"
    }
    var policy = Policy()
    switch key {
    case "write": policy.write = [path(outer)]
    case "execute": policy.libraries = [path(outer)]
    case "list": policy.list = [path(outer)]
    default: policy.read = [path(outer)]
    }
    policy.list.append(path(inner))
    do {
      _ = try Grant.all(of: policy, writable: [], machine: Self.machine)
      #expect(!isRefused)
    } catch {
      #expect(isRefused && "\(error)".contains("of which more than names may be read"), "\(error)")
    }
  }

  @Test(
    "a folder in /tmp isn't listed only: the plugin may read what is there, and that holds for what is attached in it")
  func listedInTemporary() throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-listed-")
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var policy = Policy()
    policy.list = [folder]
    let error = #expect(throws: HostError.self) { _ = try Grant.all(of: policy, writable: [], machine: Self.machine) }
    #expect("\(error as Any)".contains("lies in /tmp"), "\(error as Any)")
    (policy.list, policy.read) = ([], [folder])
    _ = try Grant.all(of: policy, writable: [], machine: Self.machine)
  }

  /// The last that a request has room for, each looked up among all others.
  @Test func manyPathsHaveTheirPlaces() {
    let paths = (0..<3000).map { "/g/\($0)/x" }
    let places = GrantPlaces(paths + ["/g"], runtime: ["/usr/lib"]) { $0 == "/g/7" ? "8" : nil }
    #expect(places.place(of: "/g/7/x") == "/g/8/x" && places.place(of: "/g/9/x") == "/g/9/x")
  }
}
