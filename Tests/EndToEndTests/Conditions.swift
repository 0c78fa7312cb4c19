import Foundation
import PluginHost
import Sandbox
import Testing

/// Where a test can't run, it is listed as skipped; Tests/expected-skips says where that may be.
extension Trait where Self == ConditionTrait {
  static var asRoot: Self { .enabled(if: geteuid() == 0, "only root can arrange this") }

  static var withMemoryCgroup: Self {
    .enabled("needs a memory cgroup that may have children") {
      try await Workspace.host().walls()[.cgroup]?.state == .full
    }
  }
}
