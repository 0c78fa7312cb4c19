internal import HostProtocol
internal import LinuxSystem
internal import Sandbox

/// A path that a policy grants, looked up once for a run: whoever attaches it has to find that very file.
struct Grant {
  let path: String
  /// Where it lies in the runner's view.
  let place: String
  let identity: FileIdentity
  let isWritable: Bool

  /// What a policy grants has to be there: a grant that is none would be found out by the plugin.
  static func all(
    of policy: Policy, container: String, machine: Machine
  ) throws(HostError) -> [Grant] {
    let entries = policy.read.map { (path: $0, key: "read") } + policy.write.map { (path: $0, key: "write") }
    if entries.isEmpty { return [] }
    var writable: [FileIdentity] = []
    for path in [container] + policy.write {
      if let identity = try? Files.identity(of: path), identity.isDirectory { writable.append(identity) }
    }
    let walk = GrantWalk(writable: writable)
    let places =
      machine.hidesFiles
      ? GrantPlaces(entries.map(\.path), runtime: RunnerView.runtime + machine.hello.runtime) : nil
    var grants: [Grant] = []
    for (path, key) in entries {
      let subject = "\(path), which the policy grants under '\(key)'"
      if path == "/" { throw .usage("\(subject), is everything; name the directories that are needed") }
      if RunnerView.links.contains(path) {
        throw .usage("\(subject), is the runtime's, which every plugin may read")
      }
      let place = places?.place(of: path) ?? path
      if place == "/" {
        throw .usage("\(subject), leads to /, which is everything; name the directories that are needed")
      }
      let end: GrantWalk.End
      do {
        end = try walk.end(of: path)
      } catch {
        throw .input("\(subject): \(SystemCallError.message(error.code))")
      }
      switch end {
      case .file(let identity):
        grants.append(Grant(path: path, place: place, identity: identity, isWritable: key == "write"))
      case .link(let name):
        throw .usage(
          "\(subject), leads through the symbolic link '\(name)' in a folder that plugins may write to; name the path that it leads to"
        )
      }
    }
    return grants
  }
}
