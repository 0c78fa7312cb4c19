internal import Basics

/// Where things lie in the root that a runner sees. Both sides build on it: the fork server makes the template, the host
/// attaches each run's own on it.
package enum RunnerView {
  package static let bundle = "/bundle"
  package static let container = "/container"
  /// Where the containers of further app groups lie, by number.
  package static let containers = "/containers"
  package static let manifest = "/manifest"
  package static let temporary = "/tmp"
  /// Where a run that has a network finds the names of its hosts.
  package static let hosts = "/etc/hosts"
  /// Where it finds whom to ask for other names.
  package static let resolver = "/etc/resolv.conf"
  /// What a run that has a network has of its own in /etc.
  package static let networkFiles = [hosts, resolver]

  /// What a run has of its own, wherever it is on the machine.
  package static let own = [bundle, container, containers, manifest, temporary]

  /// The one of those that a path is or lies in.
  package static func own(around path: String) -> String? { own.first { path.lies(in: $0) } }

  /// Whether a path is one of those, or a further container.
  package static func isOwn(_ path: String) -> Bool { own.contains(path) || path.lies(below: containers) }

  /// Directories and files of the machine that every runner sees, read-only. Those that a machine lacks are left out.
  package static let runtime = [
    "/usr/lib", "/usr/lib64", "/usr/lib32", "/usr/local/lib", "/usr/share/zoneinfo", "/etc/ld.so.cache",
  ]
  /// Of a process's memory (proc_pid_maps(5)), a runner's root has the line of its first thread's stack, whose bounds garbage
  /// collectors ask for by pthread_getattr_np(3). All runners have the same.
  package static let memoryMap = "/proc/self/maps"
  /// Symbolic links that many systems have in place of directories.
  package static let links = ["/lib", "/lib64", "/lib32", "/usr/lib64", "/etc/localtime"]
  /// Without /dev/zero, which gives shared memory to a process that maps it, past the filter that looks at mmap(2)'s flags.
  package static let devices = ["/dev/null", "/dev/full", "/dev/random", "/dev/urandom"]
}
