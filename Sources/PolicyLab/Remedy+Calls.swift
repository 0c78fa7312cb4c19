internal import HostProtocol
internal import Sandbox

extension Remedy {
  /// What to do without a call that no policy allows. `target`: its arguments, as a report has them.
  static func calls(_ name: String, _ target: String) -> String {
    switch name {
    case "socketpair":
      "a pair of stream sockets is all that 'network: pairs' gives, and to the plugin's own process alone: a pipe does without"
    case "socket", "connect", "bind", "listen", "accept", "accept4", "sendto", "sendmsg":
      "plugins have no network but TCP to what 'network' lists: an extension returns a download, and a library is given what was fetched for it"
    case "uselib": "no policy allows it: the dynamic loader maps libraries, ld.so(8)"
    case "mmap", "mprotect", "pkey_mprotect":
      "code comes from files and is never writable: turn a just-in-time compiler off"
    case "mlock", "mlock2", "mlockall": lockedOrHuge
    case "clone", "execve", "execveat", "clone3":
      "no policy lets it start that: threads, and with 'processes' what fork(3), posix_spawn(3) and execve(2) start"
    case "rt_sigqueueinfo", "rt_tgsigqueueinfo":
      "no policy lets it send a signal with a value, sigqueue(3): kill(2) to its own process works"
    case "ptrace", "process_vm_readv", "process_vm_writev", "kill", "tkill", "tgkill", "pidfd_open", "pidfd_getfd":
      "no policy lets it look into other processes or signal them"
    case "memfd_create", "shmget", "shmat": "memory that isn't its own can't be counted: map anonymous memory"
    case "flock": "other plugins would see it: locks of fcntl(2) and lockf(3) are the plugin's own"
    case "chown", "fchown", "lchown", "fchownat": "what it makes has the owner that its folder's files have"
    case "chmod", "fchmod", "fchmodat": "no policy lets it set set-user-ID or give rights to other users"
    // Nothing else of these is denied by the filter.
    case "open", "openat", "creat":
      "no policy lets it make a file with set-user-ID or set-group-ID: leave these bits out of the mode"
    case "mknod", "mknodat":
      "no policy allows making special files and FIFOs: open(2) makes ordinary files, and pipe(2) what two of its processes share"
    case "prlimit64", "setrlimit":
      "no policy lets a plugin change its limits, which are the policy's\(limit(of: name, target).map { ": \($0)" } ?? "")"
    default: "no policy allows it: the call reaches beyond the plugin"
    }
  }

  /// The line of a policy for the limit that was to be set, which getrlimit(2) numbers; nil: a policy has none for it.
  private static func limit(of call: String, _ target: String) -> String? {
    let values = SystemCallText.values(in: target)
    let place = call == "prlimit64" ? 1 : 0
    guard values.indices.contains(place) else { return nil }
    return switch values[place] {
    case 0: "limits: {cpu: …}"
    case 1: "limits: {fileSize: …}"
    case 2, 5, 9: "limits: {memory: …}"
    case 6: "limits: {threads: …}"
    case 7: "limits: {openFiles: …}"
    default: nil
    }
  }
}
