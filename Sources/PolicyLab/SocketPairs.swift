internal import Glibc
internal import Sandbox

/// What `network: pairs` of a policy allows.
enum SocketPairs {
  /// What recordings list what needed it under.
  static let key = "pairs"

  /// Whether a denied call wanted a pair of Unix stream sockets, by its arguments as the report writes them (socketpair(2)).
  static func areMade(by call: String, _ target: String) -> Bool {
    guard call == "socketpair" else { return false }
    let values = SystemCallText.values(in: target)
    return values.count >= 2 && values[0] == UInt64(AF_UNIX) && values[1] & 0xf == UInt64(SOCK_STREAM.rawValue)
  }

  /// Whether a denied call wanted a socket for TCP, by its arguments as the report writes them (socket(2)).
  static func isConnecting(_ call: String, _ target: String) -> Bool {
    guard call == "socket" else { return false }
    let values = SystemCallText.values(in: target)
    return values.count >= 2 && [UInt64(AF_INET), UInt64(AF_INET6)].contains(values[0])
      && values[1] & 0xf == UInt64(SOCK_STREAM.rawValue)
  }
}
