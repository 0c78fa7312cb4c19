internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem

/// The namespaces that a fork server enters once, for all of its runners: a network namespace alone costs more than the
/// rest of a wake.
struct ServerNamespaces {
  private(set) var missing: [RunnerMessage.WallReport.Failure] = []
  private(set) var template: Template?
  /// The mount namespace with the machine's whole tree, for opening what a run attaches.
  private var machine: Int32 = -1
  /// The mount namespace of the template, to come back to.
  private var templateRoot: Int32 = -1
  /// The server's own pid namespace, to come back to after each fork.
  private var processes: Int32 = -1
  /// What the host sent to take the place of the machine's devices.
  private var devices: Int32?
  /// /proc, opened before the server leaves the machine's root.
  private var proc: Int32 = -1

  var hasProcesses: Bool { processes >= 0 }

  /// The host has written the id maps.
  struct Identity {
    /// A detached mount with devices of the runners' own, where the host may make any.
    var devices: Int32?
  }

  private mutating func note(_ step: String, _ code: Int32) {
    missing.append(.init(step: step, code: code))
  }

  /// Before the server's fork: leaves the host's namespaces. `identify` asks the host for the id maps, which only it
  /// may write; nil: there are none.
  mutating func leave(without: Set<String>, identify: () -> Identity?) {
    var code = without.contains("user") ? ENOTSUP : ol_unshare(ol_new_user)
    guard code == 0, let identity = identify() else {
      for name in ["user", "mount", "pid", "network", "ipc", "uts"] { note(name, code == 0 ? EPERM : code) }
      return
    }
    devices = identity.devices
    code = ol_become(1000, 1000)
    if code != 0 { note("identity", code) }
    // The change of ids took /proc/self away from us; runners give it up again.
    _ = ol_set_dumpable(1)
    for (name, flag) in [
      ("mount", ol_new_mount), ("pid", ol_new_pid), ("network", ol_new_network), ("ipc", ol_new_ipc),
      ("uts", ol_new_uts),
    ] {
      code = without.contains(name) ? ENOTSUP : ol_unshare(flag)
      // A new one begins with the machine's own name in it.
      if code == 0, name == "uts" { code = ol_name_machine("localhost") }
      if code != 0 { note(name, code) }
    }
    _ = ol_drop_bounding_set()
  }

  /// Enters none, and says so.
  mutating func stay() {
    for name in ["user", "mount", "pid", "network", "ipc", "uts"] { note(name, ENOTSUP) }
  }

  func lacks(_ name: String) -> Bool { missing.contains { $0.step == name } }

  /// In the server: remembers where it is and leaves the machine's root.
  mutating func leaveMachineRoot(runtime: [String]) {
    proc = open("/proc", ol_open_path | O_DIRECTORY | O_CLOEXEC)
    if !lacks("pid") {
      processes = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC)
      if processes < 0 { note("pid", errno) }
    }
    defer {
      if let devices { close(devices) }
      devices = nil
    }
    guard !lacks("mount") else { return }
    do {
      // What is mounted on the machine later is seen here too; nothing goes the other way.
      try check("mount", "/ as slave") { ol_make_slave() }
      machine = try checkErrno("open", "/proc/self/ns/mnt") { open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC) }
      // The template has no /proc; a descriptor of this one still finds the namespace that we will be in then.
      let own = try checkErrno("open", "/proc/self/ns") { open("/proc/self/ns", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
      defer { close(own) }
      template = try Template.enter(runtime: runtime, devices: devices)
      templateRoot = try checkErrno("openat", "/proc/self/ns/mnt") { openat(own, "mnt", O_RDONLY | O_CLOEXEC) }
    } catch {
      note("mount: \(error.call) \(error.subject)", error.code)
      // What was built of a template lies over the machine's folders in this namespace.
      if machine >= 0, ol_setns(machine, ol_new_mount) != 0 { ol_exit_now(71) }
    }
  }

  /// In a runner: clones what its request names by path, while visiting the machine's mount namespace. Returns one descriptor
  /// for each attachment with a path source, in order. `isApart`: it has left the template's mount namespace for its own.
  func clonePaths(
    of attachments: [SpawnRequest.Attachment], isApart: Bool
  ) throws(SystemCallError) -> [Int32] {
    let wanted = attachments.compactMap { attachment in
      if case .path(let path, let device, let inode) = attachment.source { (path, device, inode) } else { nil }
    }
    if wanted.isEmpty { return [] }
    let home =
      isApart
      ? try checkErrno("openat", "/proc/self/ns/mnt") { openat(proc, "self/ns/mnt", O_RDONLY | O_CLOEXEC) }
      : templateRoot
    try check("setns", "mount") { ol_setns(machine, ol_new_mount) }
    defer {
      // Coming back resets root and working directory to the namespace's own, which is the template's.
      if ol_setns(home, ol_new_mount) != 0 { ol_exit_now(71) }
      if isApart { close(home) }
    }
    var mounts: [Int32] = []
    do throws(SystemCallError) {
      for (path, device, inode) in wanted {
        var mount: Int32 = -1
        try check("open_tree", path) { ol_clone_mount(AT_FDCWD, path, 1, &mount) }
        mounts.append(mount)
        var status = stat()
        fstat(mount, &status)
        guard UInt64(status.st_dev) == device, UInt64(status.st_ino) == inode else {
          throw SystemCallError("open_tree", code: ESTALE, subject: path)
        }
      }
    } catch {
      for mount in mounts { close(mount) }
      throw error
    }
    return mounts
  }

  /// What the kernel says of the calling process (proc_pid_status(5), proc_pid_maps(5)), for the host to read; empty where
  /// that can't be had.
  func ownMeters() -> [Int32] {
    let names: [String] = ["self/status", "self/maps"]
    let files = names.map { (name: String) -> Int32 in openat(proc, name, O_RDONLY | O_CLOEXEC) }
    guard files.contains(where: { $0 < 0 }) else { return files }
    for file in files where file >= 0 { close(file) }
    return []
  }

  /// Writes a setting of the kernel's that belongs to the calling process's namespaces. `path`: below /proc.
  func set(_ path: String, to value: String) throws(SystemCallError) {
    let file = try checkErrno("open", "/proc/\(path)") { openat(proc, path, O_WRONLY | O_CLOEXEC) }
    try OwnedDescriptor(taking: file).write(value)
  }

  /// fork(2); the child is the first process of a pid namespace of its own where there is one.
  func fork(_ pid: inout pid_t) -> Int32 {
    if hasProcesses {
      let code = ol_unshare(ol_new_pid)
      if code != 0 { return code }
    }
    let code = ol_fork(&pid)
    if code == 0, pid == 0 {
      // The processes that it starts stay in its group, since the filter lets no process leave it: one signal reaches all of them. It
      // has no terminal of the host's, and where the kernel groups by sessions whom it lets compute (sched(7), autogroup), all
      // threads of a plugin count as one beside its neighbours.
      if ol_lead_session() != 0 { ol_exit_now(71) }
      return 0
    }
    // Only the next child is born into the new namespace; back to our own, or the next fork fails.
    if hasProcesses, ol_setns(processes, ol_new_pid) != 0 { ol_exit_now(71) }
    return code
  }
}
