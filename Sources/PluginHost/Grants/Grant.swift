internal import Basics
internal import HostProtocol
internal import LinuxSystem
internal import Sandbox

/// A path that a policy grants, looked up once for a run: when it is mounted, it must still be that very file.
struct Grant {
  let path: String
  /// The path of the policy's that it stands for: mostly its own.
  var line: String
  /// What `path` leads to, without symbolic links.
  let real: String
  /// Where it lies in the runner's view.
  let place: String
  let identity: FileIdentity
  let isWritable: Bool
  /// Whether its code may be mapped after loading.
  var mapsCode = false
  /// Whether only its names may be read.
  var isListed = false
  /// Whether plugins, of this run or an earlier one, may have written it.
  var isPlugins = false

  /// What a policy grants has to be there: a grant that is none would be found out by the plugin. `writable`: what plugins
  /// of this run may write to.
  static func all(
    of policy: Policy, writable: [FileIdentity], machine: Machine
  ) throws(HostError) -> [Grant] {
    let entries =
      policy.read.map { (path: $0, key: "read") } + policy.write.map { (path: $0, key: "write") }
      + policy.libraries.map { (path: $0, key: "execute") } + policy.list.map { (path: $0, key: "list") }
    if entries.isEmpty { return [] }
    if let reason = GrantRoom.rejectionReason(for: entries.map(\.path)) { throw .excess(reason) }
    let root = try? Files.identity(of: "/")
    let places =
      machine.hidesFiles
      ? GrantPlaces(entries.map(\.path), runtime: RunnerView.runtime + machine.hello.runtime) : nil
    if let places, !places.isResolved {
      throw .usage(
        "the paths that the policy grants lead through symbolic links that change meanwhile; grant what they lead to, as realpath(1) says"
      )
    }
    var grants: [Grant] = []
    for (path, key) in entries {
      // As version 2 calls it, and version 1.
      let name = key == "execute" ? "'execute' ('libraries' in version 1)" : "'\(key)'"
      let subject = "\(path), which the policy grants under \(name)"
      try checkSpelling(of: path, subject)
      let place = places?.place(of: path) ?? path
      if machine.hidesFiles, RunnerView.isOwn(place) {
        throw .usage("\(subject), is where a plugin has something of its own; name what is needed in it")
      }
      let named = try found(at: path, writable, subject)
      let identity = named.identity
      guard identity.inode != root?.inode || identity.device != root?.device else {
        throw .usage("\(subject), leads to /, which is everything; name the directories that are needed")
      }
      if let rejectionReason = RevealingFolder.rejectionReason(for: path, named) ?? rejectionReason(for: named, as: key)
      {
        throw .usage("\(subject), \(rejectionReason)")
      }
      grants.append(
        Grant(
          path: path, line: path, real: named.path, place: place, identity: identity, isWritable: key == "write",
          mapsCode: key == "execute",
          isListed: key == "list", isPlugins: named.isPlugins))
    }
    try checkLists(grants, machine)
    try checkNames(grants)
    for grant in grants where grant.isListed {
      guard let own = RunnerView.own(around: grant.place) else { continue }
      let rejectionReason = RevealingFolder.rejectionReason(forListedInOwn: own)
      throw .usage("\(grant.path), which the policy grants under 'list', \(rejectionReason)")
    }
    if machine.hidesFiles { grants += try foldersBetween(grants, writable) }
    return try innermostLast(grants, machine)
  }

  /// As a policy file has them: names after links, and names that end early, would be others' paths.
  private static func checkSpelling(of path: String, _ subject: String) throws(HostError) {
    guard path.isAbsolutePath, !path.utf8.contains(0), !path.pathNames.contains("..") else {
      throw .usage("\(subject), isn't an absolute path without '..'")
    }
    if path == "/" { throw .usage("\(subject), is everything; name the directories that are needed") }
    if RunnerView.links.contains(path) {
      throw .usage("\(subject), is the runtime's, which every plugin may read")
    }
  }

  /// Why what a path leads to can't be granted under the policy's `key`; nil: it can.
  private static func rejectionReason(for named: borrowing RunPath, as key: String) -> String? {
    // Where it is attached, none is opened (mount(2), MS_NODEV).
    if named.identity.isDevice {
      let names = PolicyDevice.allCases.map(\.rawValue).sorted().joined(separator: ", ")
      return "is a device; a plugin opens those alone that 'devices' names: \(names)"
    }
    return switch key {
    case "list" where !named.identity.isDirectory: "is no folder: it has no names to list"
    case "write": MachineFolder.rejectionReason(forWriting: named.path)
    case "execute" where named.isPlugins:
      "is a file or in a folder that plugins may write to: they could map what they wrote as code"
    default: nil
    }
  }

  /// What no policy grants isn't said to be missing: whether something is open under a number of the host's is no question.
  private static func found(
    at path: String, _ writable: [FileIdentity], _ subject: String
  ) throws(HostError) -> RunPath {
    do throws(HostError) {
      return try RunPath(opening: path, writable: writable, subject: subject)
    } catch {
      guard let reason = RevealingFolder.rejectionReason(for: path) else { throw error }
      throw .usage("\(subject), \(reason)")
    }
  }

  /// Landlock's rules only add to those of the folders around: a folder in one that is read can't be listed only.
  private static func checkLists(_ grants: [Grant], _ machine: Machine) throws(HostError) {
    let runtime = RunnerView.runtime + machine.hello.runtime
    for grant in grants where grant.isListed {
      let others = grants.filter { !$0.isListed }
      // By whatever name.
      let holder =
        others.first { $0.identity.isSameFile(as: grant.identity) }?.path
        ?? (others.map(\.place) + runtime).first { grant.place.lies(in: $0) }
      guard let holder else { continue }
      throw .usage(
        "\(grant.path), which the policy grants under 'list', \(RevealingFolder.rejectionReason(forListedIn: holder))")
    }
  }

  /// What is attached at a part of a folder is attached there by one name of that folder: by another one, to which a link has led, the part
  /// would be as the folder is.
  private static func checkNames(_ grants: [Grant]) throws(HostError) {
    for grant in grants where !grant.isWritable {
      let holder = grants.first { other in
        (other.isWritable || grant.isListed && !other.isListed) && other.place != other.real
          && grant.real.lies(below: other.real) && !grant.place.lies(below: other.place)
      }
      guard let holder else { continue }
      let reason = RevealingFolder.rejectionReason(forPartOf: holder.path, leadingTo: holder.real)
      throw .usage("\(grant.path), of which the policy grants less, \(reason)")
    }
  }

  /// Those between a folder that may be written and a part of it that may only be read. As mounts of their own they can't be moved, as the
  /// part would be with them, and something else be put there under its name (rename(2), EBUSY).
  private static func foldersBetween(_ grants: [Grant], _ writable: [FileIdentity]) throws(HostError) -> [Grant] {
    var places = Set(grants.map { ExactText($0.place) })
    var found: [Grant] = []
    for inner in grants where !inner.isWritable {
      let around = grants.filter { inner.place.lies(below: $0.place) }
      guard let outer = around.max(by: { $0.place.utf8.count < $1.place.utf8.count }), outer.isWritable else {
        continue
      }
      var next = inner.place.parentFolder
      while let place = next, place.lies(below: outer.place) {
        next = place.parentFolder
        guard places.insert(ExactText(place)).inserted else { continue }
        let folder = try RunPath(
          opening: place, writable: writable, subject: "\(place), which lies between \(outer.path) and \(inner.path),")
        found.append(
          Grant(
            path: place, line: outer.line, real: folder.path, place: place, identity: folder.identity, isWritable: true)
        )
      }
    }
    return found
  }

  /// What is attached later lies over what was there: a part of a granted folder is as its own grant says.
  private static func innermostLast(_ grants: [Grant], _ machine: Machine) throws(HostError) -> [Grant] {
    for grant in grants where !grant.isWritable && !machine.hidesFiles {
      if let outer = grants.first(where: { $0.isWritable && grant.place.lies(below: $0.place) }) {
        throw .usage(
          "\(grant.path), which the policy grants under 'read', lies in \(outer.path), which it grants under 'write'; without a mount namespace all of that could be written"
        )
      }
    }
    // A path that is granted twice may be written.
    return grants.enumerated().sorted {
      ($0.element.place.utf8.count, $0.offset) < ($1.element.place.utf8.count, $1.offset)
    }.map(\.element)
  }
}

extension FileIdentity {
  /// By whatever names they were opened.
  func isSameFile(as other: Self) -> Bool { (device, inode) == (other.device, other.inode) }
}
