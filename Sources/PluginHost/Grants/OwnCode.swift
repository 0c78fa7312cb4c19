internal import Basics
internal import LinuxSystem
internal import Sandbox

/// The plugin's own code, which it mustn't be able to write to: what is written to a file shows at once wherever that is mapped, also as
/// code.
enum OwnCode {
  /// Throws `.usage` where the library, or one beside it that it needs, could be written in this run.
  static func check(_ plan: SpawnPlan) throws(HostError) {
    guard !plan.options.isBare else { return }
    for file in [plan.image.library] + plan.image.neighbours {
      guard let place = writable(file, plan) else { continue }
      throw .usage(
        "\(file.path), whose code is loaded, is or lies in \(place), which the plugin may write to: it could change its own code; keep the two apart"
      )
    }
  }

  /// What grants that the file is written; nil: nothing does.
  private static func writable(_ file: PluginImage.File, _ plan: SpawnPlan) -> String? {
    // By whatever name, be it that of another hard link.
    if let grant = plan.grants.first(where: { $0.isWritable && $0.identity.isSameFile(as: file.identity) }) {
      return grant.path
    }
    var around = plan.grants.filter { file.path.lies(in: $0.real) }.map {
      (path: $0.path, real: $0.real, isWritable: $0.isWritable)
    }
    if plan.policy.writesContainer, !plan.boundsContainer {
      around += plan.folders.filter { file.path.lies(in: $0.path) }.map {
        (path: $0.path, real: $0.path, isWritable: true)
      }
    }
    // Of two the narrower one counts.
    let narrowest = around.max {
      ($0.real.utf8.count, $0.isWritable ? 1 : 0) < ($1.real.utf8.count, $1.isWritable ? 1 : 0)
    }
    return narrowest.flatMap { $0.isWritable ? $0.path : nil }
  }
}
