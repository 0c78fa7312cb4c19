internal import CLinux
internal import Glibc
internal import LinuxSystem

/// A listening TCP socket.
struct Listener: ~Copyable, Sendable {
  let socket: OwnedDescriptor
  let port: UInt16

  init(_ address: String, _ port: UInt16) throws(OriginError) {
    var storage = sockaddr_storage()
    let length = try Self.fill(&storage, address, port)
    do throws(SystemCallError) {
      socket = try Self.listening(storage, length, subject: "\(address) port \(port)")
    } catch {
      switch error.code {
      case EADDRINUSE: throw .portInUse(address: address, port: port)
      case EADDRNOTAVAIL: throw .addressUnavailable(address)
      default: throw .system(error)
      }
    }
    self.port = Self.boundPort(socket.number)
  }

  private static func listening(
    _ storage: sockaddr_storage, _ length: socklen_t, subject: String
  ) throws(SystemCallError) -> OwnedDescriptor {
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let family = Int32(storage.ss_family)
    let socket = OwnedDescriptor(taking: try checkErrno("socket", subject) { Glibc.socket(family, kind, 0) })
    let number = socket.number
    var one: Int32 = 1
    setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    try checkErrno("bind", subject) {
      withUnsafePointer(to: storage) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(number, $0, length) }
      }
    }
    try checkErrno("listen", subject) { listen(number, 1024) }
    return socket
  }

  private static func boundPort(_ socket: Int32) -> UInt16 {
    var bound = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    withUnsafeMutablePointer(to: &bound) {
      _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) }
    }
    // The port stands at the same place in both families.
    return withUnsafeBytes(of: bound) { UInt16($0[2]) << 8 | UInt16($0[3]) }
  }

  static func fill(_ storage: inout sockaddr_storage, _ address: String, _ port: UInt16) throws(OriginError)
    -> socklen_t
  {
    var v4 = sockaddr_in()
    if inet_pton(AF_INET, address, &v4.sin_addr) == 1 {
      v4.sin_family = sa_family_t(AF_INET)
      v4.sin_port = port.bigEndian
      withUnsafeMutableBytes(of: &storage) { target in withUnsafeBytes(of: v4) { target.copyMemory(from: $0) } }
      return socklen_t(MemoryLayout<sockaddr_in>.size)
    }
    var v6 = sockaddr_in6()
    guard inet_pton(AF_INET6, address, &v6.sin6_addr) == 1 else { throw .notAnAddress(address) }
    v6.sin6_family = sa_family_t(AF_INET6)
    v6.sin6_port = port.bigEndian
    withUnsafeMutableBytes(of: &storage) { target in withUnsafeBytes(of: v6) { target.copyMemory(from: $0) } }
    return socklen_t(MemoryLayout<sockaddr_in6>.size)
  }

  /// The next connection; nil when there is none after all.
  func accept() -> OwnedDescriptor? {
    var number: Int32 = -1
    guard ol_accept(socket.number, &number) == 0 else { return nil }
    var one: Int32 = 1
    setsockopt(number, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    return OwnedDescriptor(taking: number)
  }
}
