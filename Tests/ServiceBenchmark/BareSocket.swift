import Foundation

/// Another process at the other end of a Unix stream socket that answers so many bytes with so many, and does nothing else.
struct BareSocket {
  private let socket: Int32
  private let request: Int
  private let answer: Int
  let process: Int32

  init(request: Int, answer: Int) throws {
    (self.request, self.answer) = (request, answer)
    var pair: [Int32] = [0, 0]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0 else {
      throw BenchmarkWorld.Trouble(description: "socketpair: \(errno)")
    }
    socket = pair[0]
    _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = ["echo", "\(request)", "\(answer)"]
    process.standardInput = FileHandle(fileDescriptor: pair[1], closeOnDealloc: true)
    try process.run()
    self.process = process.processIdentifier
  }

  func roundTrip() {
    Self.write(socket, request)
    _ = Self.read(socket, answer)
  }

  /// The other process, whose standard input is the socket. It ends with the socket.
  static func echo() {
    guard CommandLine.arguments.count == 4, let request = Int(CommandLine.arguments[2]),
      let answer = Int(CommandLine.arguments[3])
    else { return }
    while read(0, request) { write(0, answer) }
  }

  private static func write(_ socket: Int32, _ count: Int) {
    withUnsafeTemporaryAllocation(byteCount: count, alignment: 1) { _ = send(socket, $0.baseAddress, count, 0) }
  }

  private static func read(_ socket: Int32, _ count: Int) -> Bool {
    withUnsafeTemporaryAllocation(byteCount: count, alignment: 1) {
      recv(socket, $0.baseAddress, count, Int32(MSG_WAITALL)) == count
    }
  }
}
