internal import Foundation
internal import HostProtocol
package import PluginHost
package import Sandbox

/// What would let a plugin have what it was denied, and what that would show it. Where no policy can, what else helps.
package struct Remedy: Sendable, Equatable {
  /// Lines of a policy of version 2; nil: none allows it.
  package var line: String?
  /// What the line exposes, or what to do without one.
  package var words: String

  package var text: String { line.map { "policy: \($0.replacing("\n", with: " and "))  (\(words))" } ?? words }

  /// `isFolder`: whether a path is one on this machine; nil: it isn't there.
  package init(for denial: RunReport.Denial, under policy: Policy, isFolder: (String) -> Bool?) {
    if let rule = denial.rule {
      self = Remedy(line: nil, words: Self.removal(of: rule, denial.operation))
      return
    }
    switch denial.layer {
    case "files": self = Self.file(denial, isFolder)
    case "limits": self = Self.limit(denial, policy.limits)
    case "network" where denial.operation == "lookup":
      self = Remedy(
        line: nil,
        words:
          "it asked for an address and connected to none; 'network' lists a name with its port, as in \(denial.target):443"
      )
    case "network": self = Self.connection(denial.target)
    case _ where SystemCalls.startsProcess(denial.operation, shown: denial.target):
      self = Remedy(
        line: "processes: 1", words: "lets it start another process, whose time and memory count as the plugin's own")
    case _ where denial.operation == "execve" && denial.target.hasPrefix("/"):
      let execution = Self.execution(of: Self.file(of: denial))
      self = Remedy(
        line: policy.processes > 0 ? execution : "processes: 1\n\(execution)",
        words: "lets it start that program, which may do what the plugin may")
    case _ where denial.operation == "mmap" && denial.target.hasPrefix("/"):
      self = Remedy(
        line: Self.execution(of: Self.file(of: denial)),
        words: "lets it map that file's code while it runs")
    default: self = Remedy(line: nil, words: Self.calls(denial.operation))
    }
  }

  private static func removal(of rule: String, _ call: String) -> String {
    let isNamed = rule.hasSuffix("[\(call)]}")
    let group = isNamed ? SystemCallGroup.all.first { $0.calls.contains(call) } : nil
    let words = group.map { ", or \($0.name), the group that it is in" } ?? ""
    return "the policy's own rule decides this: remove '\(rule)'\(words), in it or in what it extends"
  }

  private static func file(of denial: RunReport.Denial) -> String {
    let path = denial.path ?? denial.target
    return PolicyPath.named(path) ?? path
  }

  private static func execution(of path: String) -> String { "executableMemory: later\n\(files("execute", path))" }

  private static func files(_ access: String, _ path: String) -> String {
    "files: {\(access): [\(PolicyText.quoted(path))]}"
  }

  private init(line: String?, words: String) { (self.line, self.words) = (line, words) }

  private static func file(_ denial: RunReport.Denial, _ isFolder: (String) -> Bool?) -> Remedy {
    let path = file(of: denial)
    if let reason = RevealingFolder.rejectionReason(forReal: path) {
      return Remedy(line: nil, words: "no policy grants it: it \(reason)")
    }
    if denial.operation == "execve" {
      return isFolder(path) == false
        ? Remedy(line: execution(of: path), words: "lets it start that program, which may do what the plugin may")
        : Remedy(line: nil, words: "it isn't on this machine either, as a file")
    }
    guard denial.writes else {
      return switch isFolder(path) {
      case nil: Remedy(line: nil, words: "it isn't on this machine either")
      case true?: Remedy(line: files("read", path), words: "shows all that lies in it")
      case false?: Remedy(line: files("read", path), words: "shows that file")
      }
    }
    if let own = ownChange(path) { return own }
    if SystemCalls.looks.contains(denial.operation) {
      return Remedy(
        line: files("write", path), words: "lets it write there; it only asked whether it may, and may do without")
    }
    if isFolder(path) == false, !SystemCalls.changesFolder(denial.operation, flags: nil) {
      return Remedy(line: files("write", path), words: "lets it change that file")
    }
    guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else {
      return Remedy(line: nil, words: "nothing is written in the root; its container is $HOME")
    }
    let folder = String(path[..<slash])
    return isFolder(folder) == true
      ? Remedy(line: files("write", folder), words: "lets it change all that lies in it")
      : Remedy(line: nil, words: "\(folder) isn't on this machine either")
  }

  /// What lies in the plugin's view alone, and the runtime.
  private static func ownChange(_ path: String) -> Remedy? {
    func holds(_ folder: String) -> Bool { path == folder || path.hasPrefix(folder + "/") }
    if holds(RunnerView.container) {
      return Remedy(line: "files: {write: [$CONTAINER]}", words: "lets it change its container")
    }
    if holds(RunnerView.temporary) {
      return Remedy(line: "files: {write: [$TMP]}", words: "lets it write in its scratch folder")
    }
    if holds(RunnerView.bundle) || holds(RunnerView.manifest) {
      return Remedy(line: nil, words: "a plugin only reads its bundle and its manifest; its container is $HOME")
    }
    guard RunnerView.runtime.contains(where: holds) else { return nil }
    return Remedy(
      line: nil,
      words: "no policy lets it change the runtime; Python keeps from that with --env PYTHONDONTWRITEBYTECODE=1")
  }

  private static func limit(_ denial: RunReport.Denial, _ limits: Limits) -> Remedy {
    switch denial.operation {
    case "mmap":
      return Remedy(
        line: "limits: {memory: \(limits.memory >> 19)MiB}", words: "twice as much shared and private memory")
    case "clone":
      return Remedy(line: "limits: {threads: \(max(limits.threads * 2, 1))}", words: "twice as many threads")
    case "fork":
      let limit = Int(denial.target) ?? 1
      let twice = min(limit * 2, Policy.maxProcesses)
      guard twice > limit else { return Remedy(line: nil, words: "no policy allows more than \(limit) at one time") }
      return Remedy(line: "processes: \(twice)", words: "twice as many at one time")
    case "fallocate":
      return Remedy(line: "limits: {fileSize: \(limits.fileSize >> 19)MiB}", words: "files twice as long")
    default: return Remedy(line: nil, words: "this limit is fixed: it bounds what the kernel holds for a plugin")
    }
  }

  private static func connection(_ target: String) -> Remedy {
    guard let endpoint = try? NetworkEndpoint(target) else {
      return Remedy(line: nil, words: "no policy lets it connect there")
    }
    return Remedy(
      line: "network: [\(PolicyText.quoted(endpoint.text))]",
      words: "lets it send to that port of that machine whatever it can read")
  }

  private static func calls(_ name: String) -> String {
    switch name {
    case "socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "sendto", "sendmsg":
      "plugins have no network but TCP to what 'network' lists: an extension returns a download, and a library is given what was fetched for it"
    case "mmap", "mprotect", "pkey_mprotect", "uselib":
      "code comes from files and is never writable: turn a just-in-time compiler off"
    case "clone", "execve", "execveat", "clone3":
      "no policy lets it start that: threads, and with 'processes' what fork(3), posix_spawn(3) and execve(2) start"
    case "ptrace", "process_vm_readv", "process_vm_writev", "kill", "tkill", "tgkill", "pidfd_open", "pidfd_getfd":
      "no policy lets it look into other processes or signal them"
    case "memfd_create", "shmget", "shmat": "memory that isn't its own can't be counted: map anonymous memory"
    case "chmod", "fchmod", "fchmodat": "no policy lets it set set-user-ID or give rights to other users"
    default: "no policy allows it: the call reaches beyond the plugin"
    }
  }
}
