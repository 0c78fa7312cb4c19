public import LinuxSystem

/// Why an origin doesn't start.
public enum OriginError: Error, Sendable, CustomStringConvertible {
  case notAnAddress(String)
  case portInUse(address: String, port: UInt16)
  case addressUnavailable(String)
  case directory(SystemCallError)
  case system(SystemCallError)
  case tls(String)

  public var description: String {
    switch self {
    case .notAnAddress(let text): "'\(text)' isn't an IP address, for example 127.0.0.1 or ::1"
    case .portInUse(let address, let port):
      "port \(port) of \(address) is in use; take another, or 0 for one that is free"
    case .addressUnavailable(let text):
      "\(text) isn't an address of this machine; 127.0.0.1 to 127.255.255.254 and ::1 are"
    case .directory(let error), .system(let error): "\(error)"
    case .tls(let text): text
    }
  }
}
