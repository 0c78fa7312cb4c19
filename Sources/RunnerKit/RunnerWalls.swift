internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem

/// Closes a runner's walls, each once, in the one order in which they can be closed. Everything here is our own code in
/// a process of one thread; nothing of the plugin is mapped yet.
struct RunnerWalls {
  let request: SpawnRequest
  let template: Template?
  /// Whether the mount namespace is this run's own already.
  let isApart: Bool

  /// Runs every step but the filter, which comes last (`filter`).
  func close(mounts: [Int32], clones: [Int32]) throws(SystemCallError) {
    // Ids have been unprivileged since the server's start; here the rights over the namespace go.
    if let attachments = request.attachments, let template {
      try enterRoot(attachments, mounts: mounts, clones: clones, template: template)
    }
    try check("capset", "no capabilities") { ol_drop_capabilities() }
    // After the change of credentials, which forgets it. The sender is the server, which has one thread.
    try check("prctl", "PR_SET_PDEATHSIG") { ol_set_parent_death_signal(SIGKILL) }
    try check("prctl", "PR_SET_DUMPABLE") { ol_set_dumpable(request.isDumpable ? 1 : 0) }
    try restrictFiles()
  }

  /// After the descriptors of the setup are gone: the limit on open files is the plugin's.
  func limitResources() throws(SystemCallError) {
    for limit in request.limits {
      try check("setrlimit", Self.name(of: limit.resource)) { ol_set_rlimit(limit.resource, limit.soft, limit.hard) }
    }
  }

  /// As setrlimit(2) calls it.
  private static func name(of resource: Int32) -> String {
    let names = [
      "CPU", "FSIZE", "DATA", "STACK", "CORE", "RSS", "NPROC", "NOFILE", "MEMLOCK", "AS", "LOCKS", "SIGPENDING",
      "MSGQUEUE", "NICE", "RTPRIO", "RTTIME",
    ]
    return names.indices.contains(Int(resource)) ? "RLIMIT_\(names[Int(resource)])" : "\(resource)"
  }

  private func enterRoot(
    _ attachments: [SpawnRequest.Attachment], mounts: [Int32], clones: [Int32], template: Template
  ) throws(SystemCallError) {
    if !isApart { try check("unshare", "CLONE_NEWNS") { ol_unshare(ol_new_mount) } }
    if needsRoot { try template.rebuild() }
    if let network = request.network { try RunnerNetwork(wanted: network).writeNames() }
    var mounts = mounts[...]
    var clones = clones[...]
    var scratch: [String] = []
    for attachment in attachments {
      if attachment.createsFile {
        let file = try checkErrno("open", attachment.target) {
          open(attachment.target, O_CREAT | O_EXCL | O_RDONLY | O_CLOEXEC, 0o444)
        }
        Glibc.close(file)
      }
      // One by one, because a point may lie in what was attached before.
      if request.freshPoints.contains(attachment.target) { try Template.place(attachment.target, isDirectory: false) }
      if request.freshPoints.contains(attachment.target + "/") {
        try Template.place(attachment.target, isDirectory: true)
      }
      let mount: Int32?
      switch attachment.source {
      case .memory(let bytes):
        let isTemporary = attachment.attributes & UInt32(OL_MOUNT_READ_ONLY) == 0
        try check("mount tmpfs", attachment.target) {
          ol_mount_tmpfs(attachment.target, "mode=\(isTemporary ? "1777" : "755"),size=\(bytes),nr_inodes=4096", 1)
        }
        if !isTemporary { scratch.append(attachment.target) }
        continue
      case .descriptor: mount = mounts.popFirst()
      case .path: mount = clones.popFirst()
      }
      guard let mount else { throw SystemCallError("attach", code: EBADF, subject: attachment.target) }
      try check("mount_setattr", attachment.target) { ol_restrict_mount(mount, attachment.attributes, 1) }
      try check("move_mount", attachment.target) { ol_attach_mount(mount, attachment.target) }
    }
    // Filled now.
    for path in scratch { try check("mount read-only", path) { ol_mount_read_only(path) } }
    if needsRoot { try check("mount", "/ read-only") { ol_mount_read_only("/") } }
  }

  /// Whether there is something in the root that the template hasn't.
  private var needsRoot: Bool { !request.freshPoints.isEmpty || request.network != nil }

  private func restrictFiles() throws(SystemCallError) {
    guard let plan = request.landlock else { return }
    var ruleset: Int32 = -1
    try check("landlock_create_ruleset", "") {
      ol_landlock_create(plan.filesystem, plan.network, plan.scoped, &ruleset)
    }
    defer { _ = Glibc.close(ruleset) }
    for rule in plan.rules {
      let path = open(rule.path, ol_open_path)
      // A part of the runtime that this machine doesn't have needs no rule.
      if path < 0 { continue }
      defer { _ = Glibc.close(path) }
      try check("landlock_add_rule", rule.path) { ol_landlock_allow_path(ruleset, path, rule.rights) }
    }
    try check("landlock_restrict_self", "") { ol_landlock_restrict(ruleset) }
  }

  /// Installs the filter. Returns the listener, or -1 where there is none.
  func filter() throws(SystemCallError) -> Int32 {
    guard !request.filter.isEmpty else { return -1 }
    var listener: Int32 = -1
    try check("seccomp", "\(request.filter.count / 8) instructions") {
      request.filter.withUnsafeBytes { bytes in
        guard let base = bytes.baseAddress else { return EINVAL }
        return request.hasListener
          ? ol_seccomp_install(base, bytes.count, &listener) : ol_seccomp_install(base, bytes.count, nil)
      }
    }
    return listener
  }
}
