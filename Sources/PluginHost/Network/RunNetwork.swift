internal import CLinux
internal import Glibc
internal import LinuxSystem
internal import Sandbox

/// The network of one run, from the request of its runner to the run's end. The host's loop thread only.
final class RunNetwork {
  let plan: NetworkPlan
  /// Where the runner hands over what it made, before anything of the plugin is mapped.
  private var channel: DescriptorSlot
  private var relay: NetworkRelay?

  init(_ plan: NetworkPlan, channel: consuming OwnedDescriptor) {
    self.plan = plan
    self.channel = DescriptorSlot(channel)
  }

  /// The walls are closed, so that the runner has sent its descriptors.
  func begin(tell: @escaping @Sendable (RunReport.Denial) -> Void) throws(SystemCallError) {
    var byte = [UInt8](repeating: 0, count: 1)
    let received = try Sockets.receive(
      channel.number, into: &byte, flags: Int32(MSG_DONTWAIT), maxDescriptors: Int(OL_MOST_DESCRIPTORS))
    channel.empty()
    guard let received else {
      throw SystemCallError("recvmsg", code: EPROTO, subject: "a run's network")
    }
    guard !received.wasTruncated else {
      for descriptor in received.descriptors { close(descriptor) }
      throw SystemCallError("recvmsg", code: EMFILE, subject: "a run's network")
    }
    relay = try NetworkRelay(plan, descriptors: received.descriptors, tell: tell)
  }

  /// What the plugin did with it; nil where it never began.
  func end() -> NetworkRecord? {
    channel.empty()
    return relay.take()?.end()
  }
}
