internal import Glibc

/// Another sandbox's empty run, to compare with.
enum Bubblewrap {
  static let name = "bwrap --unshare-all --ro-bind / / /bin/true"

  private static let path = (["/usr/bin/bwrap", "/usr/local/bin/bwrap"] as [String]).first { access($0, X_OK) == 0 }

  /// Seconds of one run; nil where it isn't installed or doesn't work.
  static func run() -> Double? {
    guard let path else { return nil }
    var argv = name.split(separator: " ").map { strdup(String($0)) }
    argv.append(nil)
    defer { for argument in argv { free(argument) } }
    var environment: [UnsafeMutablePointer<CChar>?] = [nil]
    let start = ContinuousClock.now
    var pid: pid_t = 0
    guard posix_spawn(&pid, path, nil, nil, &argv, &environment) == 0 else { return nil }
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0 { if errno != EINTR { return nil } }
    return status == 0 ? start.duration(to: .now) / .seconds(1) : nil
  }
}
