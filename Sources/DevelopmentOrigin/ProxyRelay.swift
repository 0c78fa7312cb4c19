internal import Glibc
internal import LinuxSystem

/// What a proxy passes on: a tunnel (`CONNECT`), or one request with its response. To this machine only: a development
/// proxy must not lead to other machines.
struct ProxyRelay {
  private static let piece = 1 << 16
  let stop: StopSignal

  /// The address behind `host:port`; nil for what isn't on this machine.
  static func target(_ authority: String) -> (address: String, port: UInt16)? {
    guard let colon = authority.lastIndex(of: ":") else { return target(authority + ":80") }
    guard let port = UInt16(authority[authority.index(after: colon)...]) else {
      return authority.hasSuffix("]") ? target(authority + ":80") : nil
    }
    var host = authority[..<colon].lowercased()
    if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
    if host == "localhost" || host.hasSuffix(".localhost") { return ("127.0.0.1", port) }
    return host == "::1" || host.hasPrefix("127.") ? (host, port) : nil
  }

  /// Connected, or nil.
  func connect(_ target: (address: String, port: UInt16)) -> OwnedDescriptor? {
    var storage = sockaddr_storage()
    guard let length = try? Listener.fill(&storage, target.address, target.port) else { return nil }
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let number = socket(Int32(storage.ss_family), kind, 0)
    guard number >= 0 else { return nil }
    let descriptor = OwnedDescriptor(taking: number)
    let result = withUnsafePointer(to: storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(number, $0, length) }
    }
    if result != 0 {
      guard errno == EINPROGRESS, stop.wait(number, POLLOUT, for: .seconds(10)) == .ready else { return nil }
      var code: Int32 = 0
      var size = socklen_t(MemoryLayout<Int32>.size)
      guard getsockopt(number, SOL_SOCKET, SO_ERROR, &code, &size) == 0, code == 0 else { return nil }
    }
    var one: Int32 = 1
    setsockopt(number, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    return descriptor
  }

  /// Passes bytes both ways until both sides have ended, one is dead, or the origin stops.
  func run(_ client: Int32, _ server: Int32) {
    var buffer = [UInt8](repeating: 0, count: Self.piece)
    var open: Set<Int32> = [client, server]
    while !open.isEmpty {
      guard let ready = stop.wait(anyOf: Array(open)) else { return }
      let other = ready == client ? server : client
      let count = recv(ready, &buffer, buffer.count, Int32(MSG_DONTWAIT))
      if count == 0 {
        open.remove(ready)
        shutdown(other, Int32(SHUT_WR))
      } else if count > 0 {
        guard send(buffer[..<count], to: other) else { return }
      } else if errno != EAGAIN, errno != EINTR {
        return
      }
    }
  }

  func send(_ bytes: ArraySlice<UInt8>, to socket: Int32) -> Bool {
    var rest = bytes
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
      }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        guard stop.wait(socket, POLLOUT, for: .seconds(60)) == .ready else { return false }
      } else if errno != EINTR {
        return false
      }
    }
    return true
  }

  /// The request as the origin sees it: its own form of target, nothing that was meant for the proxy, no second request.
  static func head(_ request: RecordedRequest) -> [UInt8] {
    let hidden = ["proxy-authorization", "proxy-connection", "connection", "keep-alive"]
    let target = "/" + (request.target.split(separator: "/", maxSplits: 2).dropFirst(2).first.map(String.init) ?? "")
    var text = "\(request.method) \(target) HTTP/1.1\r\n"
    for field in request.headers where !hidden.contains(field.name.lowercased()) {
      text += "\(field.name): \(field.value)\r\n"
    }
    return Array((text + "Connection: close\r\n\r\n").utf8)
  }
}

extension Connection {
  /// Tunnels or forwards. Returns when the connection is of no more use.
  func relay(_ request: RecordedRequest, _ stream: borrowing Stream) throws(StreamEnd) {
    let relay = ProxyRelay(stop: stream.stopSignal)
    let server = ProxyRelay.target(request.authority).flatMap { relay.connect($0) }
    configuration.onResponse?(
      ServedResponse(request: request, status: server == nil ? 502 : 200, bytes: 0, fault: "passed on"))
    guard let server else {
      return try stream.write(Array("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8))
    }
    if request.method == "CONNECT" {
      try stream.write(Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8))
    } else if !relay.send(ProxyRelay.head(request)[...], to: server.number) {
      return
    }
    relay.run(stream.number, server.number)
  }
}
