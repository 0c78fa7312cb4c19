internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem

/// The devices that every plugin has, as nodes of the runners' own: a lock on the machine's `/dev/null` would be one for
/// every process of the machine.
enum PrivateDevices {
  /// Minor numbers of the memory devices, major 1 (null(4), full(4), random(4)).
  private static let minors: [String: UInt32] = ["null": 3, "full": 7, "random": 8, "urandom": 9]

  /// A mount that is attached nowhere; nil where this user may make no devices, whose runners have the machine's then.
  static func mount() -> OwnedDescriptor? {
    guard geteuid() == 0 else { return nil }
    let names = RunnerView.devices.map { String($0.dropFirst("/dev/".count)) }
    let copies = names.compactMap { strdup($0) }
    defer { for copy in copies { free(copy) } }
    let devices = zip(names, copies).compactMap { name, copy in
      minors[name].map { ol_device(name: copy, minor: $0) }
    }
    var mount: Int32 = -1
    guard devices.count == RunnerView.devices.count, ol_mount_devices(devices, Int32(devices.count), &mount) == 0
    else { return nil }
    return OwnedDescriptor(taking: mount)
  }
}
