import PluginHost
import Sandbox
import Testing

@testable import PolicyLab

@Suite(.timeLimit(.minutes(1))) struct PolicyWarningsTests {
  @Test(
    "what is probably not meant is said, and what is fine isn't",
    arguments: [
      ("read: [/usr/share/dict]", nil), ("read: [/nowhere]", "doesn't exist"), ("read: [/etc]", "as a whole"),
      ("read: [/etc/hosts]", nil), ("write: [/usr/lib]", "can be written"), ("read: [/srv, /srv/a]", "has no effect"),
      ("write: [/srv/a, /srv/a/b]", "keep its files from being moved in or out"),
      ("write: [/srv]\nread: [/srv/a]", nil), ("read: [/srv]\nwrite: [/srv]", "under read and under write"),
      ("onDenied: {socket: deny}", "holds anyway"), ("onDenied: {socket: kill}", nil),
    ] as [(String, String?)])
  func warnings(text: String, words: String?) throws {
    let policy = try Policy(parsing: "version: 1\n\(text)\n", file: "p")
    let found = PolicyWarnings.find(policy, on: .init { $0 != "/nowhere" }).map(\.message)
    #expect(words.map { word in found.contains { $0.contains(word) } } ?? found.isEmpty, "\(found)")
  }

  @Test(
    "what every run refuses, and what has an effect, is told from what hasn't",
    arguments: [
      ("read: [/lib]", "is the runtime's"), ("read: [/etc/localtime]", "is the runtime's"),
      ("read: [/]", "/ is everything: a run"), ("list: [/]", "/ is everything: a run"),
      ("read: [/srv/all]", "/srv/all is everything: a run"), ("read: [/tmp]", "something of its own"),
      ("execute: [/tmp]", "something of its own"), ("write: [$CONTAINER, /usr/lib]", "every plugin's code comes"),
      ("write: [$CONTAINER, /usr]", "every plugin's code comes"),
      ("write: [$CONTAINER, /sys/kernel]", "a setting of the machine"),
      ("write: [$CONTAINER, /proc/sys/kernel/core_pattern]", "a setting of the machine"),
      ("read: [/proc/self/mem]", "shows what a process"), ("read: [/srv/process]", "shows what a process"),
      ("list: [/srv/a/b], read: [/srv/a]", "is or lies in /srv/a, of which more than names"),
      ("list: [/usr/share/zoneinfo/Asia]", "is or lies in /usr/share/zoneinfo, of which more"),
      ("list: [/srv/a, /srv/a/b]", "has no effect"), ("list: [/srv/a], read: [/srv/a/b]", nil),
      // By another name of a folder around it, it would be as that is.
      ("read: [/srv/t/sub], write: [$CONTAINER, /srv/alias]", "to which /srv/alias leads"),
      ("list: [/srv/t/sub], read: [/srv/alias]", "grant /srv/t in place of /srv/alias"),
      ("read: [/srv/alias], write: [$CONTAINER, /srv/t/sub]", nil),
      // A link that leads out of what is granted, and one within a folder of code that is read alone.
      ("read: [/srv/a, /srv/a/link]", nil), ("read: [/srv/a, /srv/a/b]", "has no effect"),
      ("read: [/srv/a/b], execute: [/srv/a]", nil), ("execute: [/srv/a, /srv/a/b]", "has no effect"),
    ] as [(String, String?)])
  func effects(files: String, words: String?) throws {
    var machine = PolicyWarnings.Machine { _ in true }
    let links = ["/srv/a/link": "/etc/ssl", "/srv/process": "/proc/1/environ", "/srv/all": "/", "/srv/alias": "/srv/t"]
    machine.real = { links[$0] ?? $0 }
    let policy = try Policy(
      parsing: "version: 2\nfiles: {\(files)}\n" + (files.contains("execute") ? "executableMemory: later\n" : ""),
      file: "p")
    let found = PolicyWarnings.find(policy, on: machine).map(\.message)
    #expect(words.map { word in found.contains { $0.contains(word) } } ?? found.isEmpty, "\(found)")
  }

  @Test(
    "a file under list, too little memory and what lies in /proc or /sys are warned of",
    arguments: [
      ("files: {list: [/tmp/a]}", "lies in /tmp, where a plugin may read all"),
      ("files: {list: [/container/a]}", "lies in /container, where a plugin may read all"),
      ("files: {list: [/srv/file]}", "/srv/file is no folder, so that it has no names to list: a run"),
      ("files: {list: [/srv/folder]}", nil), ("files: {read: [/srv/file]}", nil),
      ("limits: {memory: 16}", "limits.memory: 16 bytes are less than what loading anything takes: a run"),
      ("limits: {memory: 1MiB}", nil),
      ("files: {read: [/proc/kallsyms]}", "/proc/kallsyms lies in /proc, which shows what the machine"),
      ("files: {list: [/sys/class]}", "/sys/class lies in /sys, which shows what the machine"),
      ("files: {read: [/process/x]}", nil),
    ] as [(String, String?)])
  func refusedOrReviewed(text: String, words: String?) throws {
    var machine = PolicyWarnings.Machine { _ in true }
    machine.isFolder = { $0 != "/srv/file" && $0 != "/proc/kallsyms" }
    let policy = try Policy(parsing: "version: 2\n\(text)\n", file: "p")
    let found = PolicyWarnings.find(policy, on: machine).map(\.message)
    #expect(found.count == (words == nil ? 0 : 1) && found.allSatisfy { $0.contains(words ?? "") }, "\(found)")
  }

  @Test(
    "what leads to something that a process has open is refused, whatever that is and whether it is there",
    arguments: [(true, true), (true, false), (false, false)])
  func opened(isThere: Bool, isDevice: Bool) throws {
    var machine = PolicyWarnings.Machine(exists: { _ in isThere }, isDevice: { _ in isDevice })
    machine.hops = { $0 == "/dev/stdin" || $0 == "/dev/std0" ? ["/proc/self/fd/0", "/dev/null"] : [] }
    let literal = try Policy(parsing: "version: 2\nfiles: {read: [/dev/stdin]}\n", file: "p")
    let found = PolicyWarnings.find(literal, on: machine).map(\.message)
    #expect(found.count == 1 && found[0].hasPrefix("/dev/stdin leads to /proc/self/fd/0, which shows what"), "\(found)")
    machine.resolve = { policy in
      var policy = policy
      (policy.patterns, policy.read) = ([], ["/dev/std0"])
      return .success(policy)
    }
    let pattern = try Policy(parsing: "version: 2\nfiles: {read: [\"/dev/std*\"]}\n", file: "p")
    let messages = PolicyWarnings.find(pattern, on: machine).map(\.message)
    #expect(
      messages.contains { $0.hasPrefix("/dev/std0, which a pattern stands for, leads to /proc/self") }, "\(messages)")
  }

  @Test("what lies in a folder that who checks may not search isn't said not to exist", arguments: [true, false])
  func hidden(isHidden: Bool) throws {
    var machine = PolicyWarnings.Machine { _ in false }
    machine.isHidden = { _ in isHidden }
    let found = PolicyWarnings.find(
      try Policy(parsing: "version: 2\nfiles: {read: [/srv/a]}\n", file: "p"), on: machine
    )
    .map(\.message)
    #expect(found.contains { $0.contains("/srv/a doesn't exist here") } == !isHidden, "\(found)")
    #expect(found.contains { $0.contains("in a folder that you may not search") } == isHidden, "\(found)")
  }

  @Test("a pattern in a granted folder has an effect where it stands for a link", arguments: [true, false])
  func patterns(hasLink: Bool) throws {
    var machine = PolicyWarnings.Machine(
      exists: { _ in true },
      resolve: { policy in
        var policy = policy
        if !policy.patterns.isEmpty { policy.read += ["/srv/a/file", "/srv/a/link"] }
        policy.patterns = []
        return .success(policy)
      })
    machine.real = { $0 == "/srv/a/link" && hasLink ? "/etc/shadow" : $0 }
    let policy = try Policy(parsing: "version: 2\nfiles: {read: [/srv/a, '/srv/a/*']}\n", file: "p")
    let found = PolicyWarnings.find(policy, on: machine).map(\.message)
    #expect(found.contains { $0.contains("/srv/a/* has no effect") } == !hasLink, "\(found)")
  }

  @Test("a folder of every user is warned of where it may be written, and not where it is read") func openToAll() throws
  {
    func warnings(_ text: String) throws -> [PolicyWarnings.Warning] {
      var machine = PolicyWarnings.Machine { _ in true }
      machine.isOpenToAll = { $0 == "/srv/tmp" }
      return PolicyWarnings.find(try Policy(parsing: "version: 1\n\(text)\n", file: "p"), on: machine)
    }
    let found = try warnings("write: [/srv/own, /srv/tmp]")
    #expect(found.map(\.path) == ["/srv/tmp"] && found[0].message.contains("user.outrider.plugins"), "\(found)")
    #expect(try warnings("read: [/srv/tmp]").isEmpty)
  }

  @Test("what no run takes is said: devices, and more paths than fit") func refusedRuns() throws {
    var policy = try Policy(parsing: "version: 2\nfiles: {read: [/dev/kmsg, /etc/hosts]}\n", file: "p")
    let found = PolicyWarnings.find(policy, on: .init(exists: { _ in true }, isDevice: { $0 == "/dev/kmsg" })).map(
      \.message)
    #expect(found.count == 1 && found[0].hasPrefix("/dev/kmsg is a device"), "\(found)")
    func warnings(_ count: Int, _ length: Int) -> [String] {
      policy.read = (0..<count).map { "/srv/\($0)-" + String(repeating: "x", count: length) }
      return PolicyWarnings.find(policy, on: .init { _ in true }).map(\.message)
    }
    #expect(warnings(200, 10).isEmpty)
    #expect(warnings(250, 10).map { $0.contains("as root") && $0.contains("at most") } == [true])
    #expect(warnings(250, 300).map { $0.contains("make a request of") } == [true])
  }

  @Test(
    "what would hide the plugin's own list of hosts is said, as its run will be refused",
    arguments: [
      ("/etc", true), ("/etc/hosts", true), ("/etc/hostname", false), ("/etc/host", false),
    ])
  func hosts(path: String, isRefused: Bool) throws {
    let text = "version: 2\nfiles: {read: [\(path)]}\nnetwork: [\"example.org:443\"]\n"
    let found = PolicyWarnings.find(try Policy(parsing: text, file: "p"), on: .init { _ in true }).map(\.message)
    #expect(found.contains { $0.contains("would hide") } == isRefused, "\(found)")
    let alone = try Policy(parsing: "version: 2\nfiles: {read: [\(path)]}\n", file: "p")
    #expect(!PolicyWarnings.find(alone, on: .init { _ in true }).contains { $0.message.contains("would hide") })
  }

  @Test("what a pattern stands for is looked at: devices, more paths than fit, nothing at all") func patterns() throws {
    let policy = try Policy(parsing: "version: 2\nfiles: {read: [\"/dev/km*\"]}\n", file: "p")
    func warnings(_ paths: [String]?) -> [String] {
      PolicyWarnings.find(
        policy,
        on: .init(exists: { _ in true }, isDevice: { $0 == "/dev/kmsg" }) { policy in
          guard let paths else {
            return .failure(.input("/dev/km*, which the policy grants under 'read', stands for nothing"))
          }
          var policy = policy
          (policy.patterns, policy.read) = ([], paths)
          return .success(policy)
        }
      ).map(\.message)
    }
    #expect(warnings(["/dev/kmfile"]).isEmpty)
    #expect(warnings(["/dev/kmsg"]).map { $0.hasPrefix("/dev/kmsg, which a pattern") } == [true])
    #expect(warnings((0..<300).map { "/dev/km\($0)" }).map { $0.contains("of its 300 paths") } == [true])
    #expect(warnings(nil).map { $0.hasSuffix("stands for nothing") } == [true])
  }

  @Test("a link that a plugin may have made is said with what it leads to, as every run refuses it") func planted()
    throws
  {
    var machine = PolicyWarnings.Machine { _ in true }
    machine.real = { $0 == "/data/own/sub" ? "/srv/target" : $0 }
    machine.plantedLinks = { policy in
      { path in policy.write.contains("/data/own") && path == "/data/own/sub" ? "sub" : nil }
    }
    for (text, isSaid) in [
      ("write: [/data/own]\nread: [/data/own/sub]", true), ("read: [/data/own/sub]", false),
      ("write: [/data/own]\nread: [/data/other]", false),
    ] {
      let found = PolicyWarnings.find(try Policy(parsing: "version: 1\n\(text)\n", file: "p"), on: machine)
      #expect(found.map(\.path) == (isSaid ? ["/data/own/sub"] : []), "\(found)")
      #expect(
        found.allSatisfy { $0.message.contains("grant that by its own name; until then a run with this policy is") })
    }
  }

  @Test("code that no run maps, and a pattern that no run with hosts takes, are said to be refused") func refused()
    throws
  {
    var machine = PolicyWarnings.Machine { _ in true }
    machine.isPlugins = { policy in { $0 == "/marked/a.so" || policy.write.contains("/srv") && $0.hasPrefix("/srv/") } }
    machine.resolve = { policy in
      var policy = policy
      if !policy.patterns.isEmpty { policy.read += ["/etc/a.conf", "/etc/resolv.conf"] }
      return .success(policy)
    }
    for (text, words) in [
      ("files: {execute: [/marked/a.so]}", "can't be code"), ("files: {read: [/marked/a.so]}", nil),
      ("files: {execute: [/srv/lib], write: [/srv]}", "can't be code"), ("files: {execute: [/srv/lib]}", nil),
      ("files: {read: ['/etc/*.conf']}\nnetwork: ['a.example:443']", "/etc/resolv.conf, which a pattern stands for"),
      ("files: {read: ['/etc/*.conf']}", nil),
    ] as [(String, String?)] {
      let policy = try Policy(parsing: "version: 2\nexecutableMemory: later\n\(text)\n", file: "p")
      let found = PolicyWarnings.find(policy, on: machine).map(\.message)
      #expect(words.map { word in found.contains { $0.contains(word) } } ?? found.isEmpty, "\(text): \(found)")
    }
  }
}
