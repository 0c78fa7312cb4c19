import COpenSSL
import Foundation
import LinuxSystem
import Synchronization

@testable import DevelopmentOrigin

/// A peer that speaks HTTP/2 frame by frame, over TLS with ALPN: what it says, a test's script says. Clients that don't
/// offer `h2` get plain HTTP/1.1.
final class HTTP2Peer: Sendable {
  /// What one connection does; `nth` counts all connections from 1. Returning ends the connection.
  typealias Script = @Sendable (_ connection: HTTP2Connection, _ nth: Int) throws -> Void

  struct Record: Sendable, Equatable {
    var connection: Int
    var isHTTP2: Bool
    var range: String?
  }

  let port: UInt16
  private let listener: Listener
  private let stop: StopSignal
  private let threads = Threads(max: 64)
  private let server: TLSServer
  private let state = Mutex<[Record]>([])
  private let content: Content
  private let script: Script

  init(_ content: Content = Trial.content, script: @escaping Script) throws {
    self.content = content
    self.script = script
    listener = try Listener("127.0.0.1", 0)
    port = listener.port
    stop = try StopSignal()
    server = try TLSServer(TLSOptions(Authority.shared.authority), address: "127.0.0.1")
    let context = try server.context(nil)
    SSL_CTX_set_alpn_select_cb(
      context,
      { _, chosen, length, offered, offeredLength, _ in
        guard let offered else { return SSL_TLSEXT_ERR_NOACK }
        for wanted in ["h2", "http/1.1"] {
          var at = 0
          while at < Int(offeredLength) {
            let size = Int(offered[at])
            if UnsafeBufferPointer(start: offered + at + 1, count: size).elementsEqual(wanted.utf8) {
              chosen?.pointee = offered + at + 1
              length?.pointee = UInt8(size)
              return SSL_TLSEXT_ERR_OK
            }
            at += 1 + size
          }
        }
        return SSL_TLSEXT_ERR_NOACK
      }, nil)
    try threads.start { [self] in accept() }
  }

  var url: String { "https://127.0.0.1:\(port)\(Trial.path)" }
  /// In the order of the connections.
  var records: [Record] { state.withLock { $0.sorted { $0.connection < $1.connection } } }

  func end() {
    stop.raise()
    threads.join()
  }

  private func accept() {
    var count = 0
    while stop.wait(listener.socket.number, POLLIN, for: nil) == .ready {
      guard let socket = listener.accept() else { continue }
      count += 1
      let nth = count
      let raw = socket.release()
      try? threads.start { [self] in serve(OwnedDescriptor(taking: raw), nth) }
    }
  }

  private func serve(_ socket: consuming OwnedDescriptor, _ nth: Int) {
    var stream = DevelopmentOrigin.Stream(socket, stop: stop, writeLimit: .seconds(60))
    do {
      try stream.startTLS(try server.context(nil), within: .seconds(60))
      let connection = HTTP2Connection(stream, content: content)
      if connection.isHTTP2 {
        note(Record(connection: nth, isHTTP2: true, range: nil))
        try connection.greet()
        try script(connection, nth)
      } else {
        note(Record(connection: nth, isHTTP2: false, range: try connection.servePlain()))
      }
      connection.close()
    } catch {
      return
    }
  }

  private func note(_ record: Record) { state.withLock { $0.append(record) } }
}

/// One connection, as the server sees it. Confined to its thread.
final class HTTP2Connection {
  struct Frame {
    var kind: UInt8
    var flags: UInt8
    var stream: UInt32
    var payload: [UInt8]
  }

  enum Kind {
    static let data: UInt8 = 0, headers: UInt8 = 1, reset: UInt8 = 3, settings: UInt8 = 4, ping: UInt8 = 6
    static let goAway: UInt8 = 7, windowUpdate: UInt8 = 8, continuation: UInt8 = 9
  }

  static let enhanceYourCalm: UInt32 = 11, internalError: UInt32 = 2, noError: UInt32 = 0

  private let stream: StreamBox
  let content: Content
  private var inbox: [UInt8] = []
  /// Bytes that the client lets us send: on the connection, and on each new stream.
  private var window = 65535
  private var streamWindows: [UInt32: Int] = [:]
  private var initialWindow = 65535

  /// `Stream` can't be copied; a class may own it.
  private final class StreamBox {
    let stream: DevelopmentOrigin.Stream
    init(_ stream: consuming DevelopmentOrigin.Stream) { self.stream = stream }
  }

  init(_ stream: consuming DevelopmentOrigin.Stream, content: Content) {
    self.stream = StreamBox(stream)
    self.content = content
  }

  var isHTTP2: Bool { stream.stream.applicationProtocol == "h2" }

  func close() { stream.stream.closeSending() }

  // MARK: HTTP/2

  /// The client's preface, and our settings.
  func greet() throws {
    _ = try take(24)
    try send(Kind.settings, 0, 0, [])
  }

  func send(_ kind: UInt8, _ flags: UInt8, _ stream: UInt32, _ payload: [UInt8]) throws {
    let length = payload.count
    let head: [UInt8] = [
      UInt8(length >> 16 & 0xff), UInt8(length >> 8 & 0xff), UInt8(length & 0xff), kind, flags,
    ]
    try self.stream.stream.write(head + Self.bytes(stream) + payload)
  }

  /// The next frame; settings are acknowledged and windows counted on the way.
  func next() throws -> Frame {
    let head = try take(9)
    let payload = try take(Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2]))
    let frame = Frame(kind: head[3], flags: head[4], stream: Self.number(head[5...]), payload: payload)
    switch frame.kind {
    case Kind.settings where frame.flags & 1 == 0:
      for start in stride(from: 0, to: payload.count - 5, by: 6) where payload[start + 1] == 4 {
        initialWindow = Int(Self.number(payload[(start + 2)...]))
      }
      try send(Kind.settings, 1, 0, [])
    case Kind.windowUpdate:
      let more = Int(Self.number(payload[...]))
      if frame.stream == 0 { window += more } else { streamWindows[frame.stream, default: initialWindow] += more }
    default: break
    }
    return frame
  }

  /// Waits for a request and gives back its stream.
  func request() throws -> UInt32 {
    while true {
      let frame = try next()
      if frame.kind == Kind.headers { return frame.stream }
    }
  }

  /// Fields without indexing and without Huffman (RFC 7541, 6.2.2): a dynamic table isn't needed for anything here.
  static func block(_ fields: [(String, String)]) -> [UInt8] {
    func text(_ text: String) -> [UInt8] { integer(text.utf8.count, prefix: 7, first: 0) + Array(text.utf8) }
    return fields.flatMap { [0] + text($0.0) + text($0.1) }
  }

  private static func integer(_ value: Int, prefix: Int, first: UInt8) -> [UInt8] {
    let most = 1 << prefix - 1
    guard value >= most else { return [first | UInt8(value)] }
    var bytes = [first | UInt8(most)]
    var rest = value - most
    while rest >= 128 {
      bytes.append(UInt8(rest & 127 | 128))
      rest >>= 7
    }
    return bytes + [UInt8(rest)]
  }

  var ordinaryFields: [(String, String)] {
    [
      (":status", "200"), ("content-length", "\(content.count)"), ("etag", "\"\(content.identity)\""),
      ("accept-ranges", "none"),
    ]
  }

  func sendHead(_ stream: UInt32, _ fields: [(String, String)]? = nil, endsHeaders: Bool = true) throws {
    try send(Kind.headers, endsHeaders ? 4 : 0, stream, Self.block(fields ?? ordinaryFields))
  }

  /// The content from its start, as far as the client's windows let us.
  func sendBody(_ stream: UInt32, upTo end: Int? = nil, ends: Bool) throws {
    let end = end ?? content.count
    var offset = 0
    while offset < end {
      while min(window, streamWindows[stream, default: initialWindow]) <= 0 { _ = try next() }
      let room = min(window, streamWindows[stream, default: initialWindow])
      let count = min(end - offset, 16384, room)
      let isLast = offset + count == end && ends
      try send(Kind.data, isLast ? 1 : 0, stream, Array(content.bytes(in: offset..<offset + count)))
      offset += count
      window -= count
      streamWindows[stream, default: initialWindow] -= count
    }
  }

  func goAway(last: UInt32, _ code: UInt32) throws {
    try send(Kind.goAway, 0, 0, Self.bytes(last) + Self.bytes(code))
  }

  func reset(_ stream: UInt32, _ code: UInt32) throws { try send(Kind.reset, 0, stream, Self.bytes(code)) }

  /// Until the client goes away.
  func drain() throws { while true { _ = try next() } }

  private static func bytes(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
  }

  private func take(_ count: Int) throws -> [UInt8] {
    while inbox.count < count { try fill() }
    defer { inbox.removeFirst(count) }
    return Array(inbox.prefix(count))
  }

  private func fill() throws {
    var buffer = [UInt8](repeating: 0, count: 16384)
    let got = try buffer.withUnsafeMutableBytes { try stream.stream.read(into: $0, within: .seconds(60)) }
    guard got > 0 else { throw StreamEnd.closed }
    inbox += buffer.prefix(got)
  }

  // MARK: HTTP/1.1

  /// One request and the ordinary answer. Returns the range that was asked for.
  func servePlain() throws -> String? {
    while true {
      let result = inbox.withUnsafeBytes { RequestParser.parse($0) }
      if case .request(let request, _) = result {
        let range = request.header("Range")
        let start = range.flatMap { Int($0.dropFirst(6).prefix { $0 != "-" }) } ?? 0
        var head = range == nil ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 206 Partial Content\r\n"
        if range != nil { head += "Content-Range: bytes \(start)-\(content.count - 1)/\(content.count)\r\n" }
        head += "ETag: \"\(content.identity)\"\r\nContent-Length: \(content.count - start)\r\nConnection: close\r\n\r\n"
        try stream.stream.write(Array(head.utf8) + content.bytes(in: start..<content.count))
        return range
      }
      try fill()
    }
  }
}
