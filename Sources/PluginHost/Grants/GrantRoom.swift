internal import CLinux
internal import HostProtocol

/// How many paths of a policy fit the request for a runner.
package enum GrantRoom {
  /// As many as a host that maps owners hands over at most, each as a descriptor (unix(7), SCM_MAX_FD): beside them go channels, output
  /// and cgroup, and the plugin's bundle, library, container and manifest.
  package static let maxHandedOver = Int(OL_MOST_DESCRIPTORS) - 7

  /// Where the plugin has its own container, and no neighbours, groups or network.
  package static let maxOfPolicy = maxHandedOver - 1

  /// The rights of a rule and the length of its path.
  private static let minOverhead = 12

  /// Why so many don't fit; nil: each can stand in a request at least once, so that looking them up isn't for nothing.
  package static func rejectionReason(for paths: [String]) -> String? {
    let bytes = paths.reduce(0) { $0 + $1.utf8.count + minOverhead }
    return bytes > ServerRequest.longest ? rejectionReason(bytes: bytes) : nil
  }

  static func rejectionReason(bytes: Int) -> String {
    "the policy's paths make a request of \(bytes) bytes, and at most \(ServerRequest.longest) fit; grant folders that hold them"
  }

  static func rejectionReason(count: Int, max: Int) -> String {
    "the policy grants \(count) paths, and as root at most \(max) fit a request; grant folders that hold them"
  }
}
