internal import Basics
internal import HostProtocol
internal import LinuxSystem
internal import Sandbox

/// Code that is mapped after a plugin is loaded, which a policy allows by `libraries`. What keeps a plugin from mapping what it
/// has written is the kernel, whatever other threads do meanwhile: all that it may write to is mounted without execution
/// (MS_NOEXEC of mount(2)), and so is what it was granted to read. What remains is checked here.
enum LateCode {
  /// Files and folders that are looked at below one whose code may be mapped.
  private static let maxLooks = 100_000

  /// Throws `.usage` where something that the plugin may write to, or another may have written, would be seen without that, too.
  static func check(_ plan: SpawnPlan) throws(HostError) {
    try checkWritable(plan)
    for grant in plan.grants where grant.mapsCode && grant.identity.isDirectory {
      switch WritableMark.search(below: grant.real, limit: maxLooks) {
      case .none: break
      case .found(let path):
        throw .usage(
          "\(grant.path), whose code the policy lets it map later, holds \(path), which plugins may write to: it could map what they wrote"
        )
      case .tooMany:
        throw .usage(
          "\(grant.path), whose code the policy lets it map later, has more than \(maxLooks) files; name the folders in it that are needed"
        )
      }
    }
  }

  private static func checkWritable(_ plan: SpawnPlan) throws(HostError) {
    guard plan.policy.mapsCodeLater else { return }
    guard plan.machine.hidesFiles else {
      throw .usage(
        "the policy has code mapped later ('libraries', 'executableMemory'), which needs the mount namespace: without it, what a plugin writes could be mapped as code"
      )
    }
    let folders =
      plan.grants.filter(\.mapsCode).map(\.path) + [plan.image.bundle?.path].compactMap(\.self) + RunnerView.runtime
      + plan.machine.hello.runtime
    let writable = plan.containers.places.map(\.path) + plan.grants.filter(\.isWritable).map(\.path)
    for folder in folders {
      guard let outer = try? Files.real(folder) else { continue }
      for place in writable {
        guard let inner = try? Files.real(place), inner.lies(in: outer) else { continue }
        throw .usage(
          "\(place), which the plugin may write to, lies in \(folder), whose code the policy lets it map later: it could map what it wrote"
        )
      }
    }
    guard let bundle = plan.image.bundle, try RunPath(opening: bundle.path, writable: plan.writable).isPlugins else {
      return
    }
    throw .usage(
      "\(bundle.path) lies in a folder that plugins may write to: with code that is mapped later they could map what they wrote there as code"
    )
  }
}
