internal import Basics
internal import CLinux
internal import Glibc
internal import HostProtocol
internal import Sandbox

/// What the host found out about its machine and its fork server, once.
struct Machine {
  var landlockABI: Int
  var hasListener: Bool
  /// Of seccomp(2), where it is refused altogether; 0 where there is a filter.
  var seccompFailure: Int32 = 0
  var hello: ServerEvent.Hello

  /// The namespaces, by the name that a fork server has for each.
  static let namespaces: [(name: String, wall: Wall)] = [
    ("user", .userNamespace), ("mount", .mountNamespace), ("pid", .pidNamespace), ("network", .networkNamespace),
    ("ipc", .ipcNamespace), ("uts", .utsNamespace),
  ]

  init(landlockABI: Int, hasListener: Bool, hello: ServerEvent.Hello) {
    self.landlockABI = landlockABI
    self.hasListener = hasListener
    self.hello = hello
  }

  /// With what a fork server found out; the rest is asked of the kernel.
  init(probing hello: ServerEvent.Hello) {
    var abi: Int32 = 0
    _ = ol_landlock_abi(&abi)
    let code = ol_seccomp_probe()
    self.init(landlockABI: Int(abi), hasListener: code == 0, hello: hello)
    // A kernel that has seccomp and not that action.
    seccompFailure = [EOPNOTSUPP, EINVAL].contains(code) ? 0 : code
  }

  /// One whose runs have no wall.
  init(withoutWalls hello: ServerEvent.Hello) {
    self.init(landlockABI: 0, hasListener: false, hello: hello)
  }

  var hidesFiles: Bool { !lacks("mount") }
  var isolatesProcesses: Bool { !lacks("pid") }

  func failure(_ name: String) -> RunnerMessage.WallReport.Failure? {
    hello.missing.first { $0.step == name || $0.step.hasPrefix(name + ":") }
  }

  func lacks(_ name: String) -> Bool { failure(name) != nil }

  /// What every plugin may read of the runtime. What lies below another path needs no rule of its own; each costs a run some
  /// microseconds.
  var runtimePaths: Set<String> {
    let paths = RunnerView.runtime.filter { !$0.hasSuffix(".cache") } + hello.runtime
    return Set(paths).filter { path in !paths.contains { path.lies(below: $0) } }
  }
}

extension ServerEvent.Hello {
  /// Before the first fork server has told.
  static var unknown: Self { Self(missing: [], runtime: [], hasPreloaded: false) }
}
