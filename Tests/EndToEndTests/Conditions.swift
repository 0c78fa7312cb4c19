import Foundation
import LinuxSystem
import PluginHost
import Sandbox
import Testing

/// Where a test can't run, it is listed as skipped; Tests/expected-skips says where that may be.
extension Trait where Self == ConditionTrait {
  static var asRoot: Self { .enabled(if: geteuid() == 0, "only root can arrange this") }

  /// Linux 6.12 lets a thread ask for turns of its own length, and shows them.
  static var withTurns: Self {
    .enabled("needs turns of a processor of a length of one's own") {
      var system = utsname()
      uname(&system)
      let release = withUnsafeBytes(of: &system.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      let version = release.split { !$0.isNumber }.prefix(2).compactMap { Int($0) }
      return !version.lexicographicallyPrecedes([6, 12]) && Conditions.turn(of: "/proc/thread-self") != nil
    }
  }

  static var withMemoryCgroup: Self {
    .enabled("needs a memory cgroup that may have children") {
      try await Workspace.host().walls()[.cgroup]?.state == .full
    }
  }
}

enum Conditions {
  /// For how many nanoseconds a thread computes before it is another one's turn, where the kernel shows that.
  static func turn(of thread: String) -> Int? {
    guard let text = try? Files.text(of: thread + "/sched") else { return nil }
    return text.split(separator: "\n").first { $0.hasPrefix("se.slice") }?.split(separator: ":").last.flatMap {
      Int($0.trimmingCharacters(in: .whitespaces))
    }
  }
}
