import Glibc

/// A client that sends bytes and takes what comes, without knowing what it means.
final class RawClient {
  private var number: Int32

  init(_ port: UInt16, address: String = "127.0.0.1") {
    number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var target = sockaddr_in()
    target.sin_family = sa_family_t(AF_INET)
    target.sin_port = port.bigEndian
    inet_pton(AF_INET, address, &target.sin_addr)
    var limit = timeval(tv_sec: 10, tv_usec: 0)
    setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    withUnsafePointer(to: &target) {
      _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  deinit { close(number) }

  func send(_ text: String) { send(Array(text.utf8)) }

  func send(_ bytes: [UInt8]) {
    var done = 0
    while done < bytes.count {
      let result = bytes.withUnsafeBytes {
        Glibc.send(number, $0.baseAddress! + done, bytes.count - done, Int32(MSG_NOSIGNAL))
      }
      if result <= 0 { return }
      done += result
    }
  }

  func finishSending() { shutdown(number, Int32(SHUT_WR)) }

  enum End { case closed, reset, timedOut }

  struct Received {
    var bytes: [UInt8] = []
    var end = End.closed
    var text: String { String(decoding: bytes, as: UTF8.self) }
    /// Status line and fields.
    var head: String {
      text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false).first.map(String.init) ?? ""
    }
    var body: [UInt8] {
      guard let end = (0..<max(bytes.count - 3, 0)).first(where: { Array(bytes[$0..<$0 + 4]) == [13, 10, 13, 10] })
      else { return [] }
      return Array(bytes[(end + 4)...])
    }
    var status: Int { head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0 }
    func header(_ name: String) -> String? { headers(name).first }
    func headers(_ name: String) -> [String] {
      head.split(separator: "\r\n").dropFirst().compactMap { line in
        let parts = line.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == name.lowercased() else { return nil }
        return String(parts[1].drop { $0 == " " })
      }
    }
  }

  /// Everything until the end, or until there are `count` bytes.
  func receive(count: Int = .max, seconds: Int = 10) -> Received {
    var limit = timeval(tv_sec: seconds, tv_usec: 0)
    setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var received = Received()
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while received.bytes.count < count {
      let result = recv(number, &buffer, min(buffer.count, count - received.bytes.count), 0)
      if result > 0 {
        received.bytes += buffer[..<result]
      } else {
        received.end = result == 0 ? .closed : errno == ECONNRESET ? .reset : .timedOut
        break
      }
    }
    return received
  }

  /// One request on a connection of its own.
  static func get(
    _ port: UInt16, _ path: String, method: String = "GET", headers: [String] = []
  ) -> Received {
    let client = RawClient(port)
    let lines = ["\(method) \(path) HTTP/1.1", "Host: x"] + headers + ["Connection: close"]
    client.send(lines.joined(separator: "\r\n") + "\r\n\r\n")
    return client.receive()
  }
}
