internal import Basics
internal import CLinux
internal import HostProtocol
internal import LinuxSystem
internal import Sandbox

/// Why a run isn't begun: what can't be asked of a runner, and what a policy wants that nothing would keep.
extension SpawnPlan {
  /// What is loaded has to be what was opened: the loader puts other names in the place of `$LIB` and the like (ld.so(8)).
  func checkName() throws(HostError) {
    guard !view.library.utf8.contains(UInt8(ascii: "$")) else {
      throw .input("\(image.library.path): the loader takes '$' in a library's path for more than a name; rename it")
    }
  }

  /// A mount namespace hides the machine's files, and Landlock guards them. Where there is neither, a plugin has those of the user that
  /// runs it, and by them the host: /proc/PID/mem of a process of the same user is such a file (proc(5)).
  func refuseWithoutGuard() throws(HostError) {
    guard !options.isBare, !machine.hidesFiles, machine.landlockABI == 0 else { return }
    throw .ended(
      .empty(
        Outcome(
          .wallUnavailable,
          "without a mount namespace and without Landlock nothing keeps a plugin from the files of the user that runs it; allow user namespaces, or Landlock: 'outrider doctor' says what this machine has"
        )))
  }

  /// The kernel has none, or a filter around the host, as of a container, keeps it.
  func refuseWithoutFilter() throws(HostError) {
    let code = machine.seccompFailure
    guard code != 0, !options.isBare, !options.open.contains(.seccomp) else { return }
    throw .ended(
      .empty(
        Outcome(
          .wallUnavailable,
          "seccomp(2) is refused (\(SystemCallError.message(code))), and without it a plugin could make any system call; the kernel needs CONFIG_SECCOMP_FILTER, and a filter around this process, as of a container engine, has to allow the call"
        )))
  }

  /// What a policy keeps back that only Landlock can.
  func refuseWithoutLandlock() throws(HostError) {
    guard !options.isBare, machine.landlockABI == 0 || options.open.contains(.landlock) else { return }
    let wanted: String? =
      if !policy.list.isEmpty {
        "'list', and without it the files could be read, too"
      } else if policy.devices != Set(PolicyDevice.allCases) {
        "fewer devices than all"
      } else if !machine.hidesFiles, !policy.writesContainer {
        "a container that can't be written, since there is no mount namespace"
      } else {
        nil
      }
    if let wanted { throw .usage("the policy needs Landlock for \(wanted); this run has none") }
  }

  /// What a policy lists is reached through a namespace that holds nothing else.
  func refuseWithoutNetwork() throws(HostError) {
    guard network != nil else { return }
    for (name, words) in [("user", "user"), ("mount", "mount"), ("network", "network")] where machine.lacks(name) {
      throw .ended(
        .empty(
          Outcome(
            .wallUnavailable,
            "the policy has hosts or pairs under 'network', which need a \(words) namespace, and there is none: 'outrider doctor' says why"
          )))
    }
    guard policy.network.count <= NetworkEndpoint.maxCount else {
      throw .usage("the policy lists more than \(NetworkEndpoint.maxCount) hosts and ports under 'network'")
    }
    for file in RunnerView.networkFiles {
      for grant in grants where file.lies(in: grant.place) {
        throw .usage(
          "with hosts or pairs under 'network' the plugin has its own \(file), by which it finds names, and the policy grants \(grant.place), which would hide that; grant what is needed of it"
        )
      }
    }
  }

  /// What keeps several processes as one is kept: the namespace takes them all when the runner ends, and the cgroup counts the memory
  /// of all and says who they are.
  func refuseWithoutTree() throws(HostError) {
    guard mayStartProcesses else { return }
    let missing: String? =
      if machine.lacks("pid") {
        "a pid namespace"
      } else if !options.hasMemoryCgroup {
        "a memory cgroup"
      } else {
        nil
      }
    guard let missing else { return }
    throw .ended(
      .empty(
        Outcome(
          .wallUnavailable,
          "the policy allows \(policy.processes == 1 ? "a process" : "\(policy.processes) processes"), which needs \(missing), and there is none: 'outrider doctor' says why"
        )))
  }

  /// A host that maps owners sends a descriptor for each file, and no more than so many go with one request.
  func checkCount() throws(HostError) {
    guard options.handsOverMounts, machine.hidesFiles else { return }
    let max = GrantRoom.maxHandedOver - (network == nil ? 0 : 1) - containers.places.count - image.neighbours.count
    guard grants.count <= max else { throw .excess(GrantRoom.rejectionReason(count: grants.count, max: max)) }
  }
}
