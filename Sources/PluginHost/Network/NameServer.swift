internal import CLinux
internal import Glibc
internal import LinuxSystem

/// Answers a plugin's questions for names, over TCP in its own namespace. Nothing is asked of the machine's resolvers. The loop
/// thread of the relay alone.
final class NameServer {
  /// At once, and on one connection.
  private static let (maxConnections, maxQuestions) = (16, 64)

  private final class Connection {
    var descriptor: DescriptorSlot
    var key: UInt64?
    /// Of a message that isn't complete.
    var bytes: [UInt8] = []
    var questions = 0

    init(_ descriptor: consuming OwnedDescriptor) { self.descriptor = DescriptorSlot(descriptor) }
  }

  private let loop: EventLoop
  private var names: AskedNames
  /// The oldest first: it makes room for a new one.
  private var connections: [Connection] = []

  init(_ plan: NetworkPlan, _ loop: EventLoop) {
    self.loop = loop
    names = AskedNames(plan)
  }

  /// The names that aren't listed, in the order in which they were asked for first, each with how often.
  var asked: [(name: String, count: Int)] { names.asked }

  func end() {
    for connection in connections { close(connection) }
  }

  /// nil: the plugin hasn't asked for a name that has it.
  func name(of address: [UInt8]) -> String? { names.name(of: address) }

  /// A plugin connected to ask.
  func take(_ descriptor: consuming OwnedDescriptor) {
    if connections.count >= Self.maxConnections { close(connections[0]) }
    let connection = Connection(descriptor)
    connections.append(connection)
    connection.key = try? loop.watch(connection.descriptor.number) { [unowned self, unowned connection] in
      read(connection)
    }
    if connection.key == nil { close(connection) }
  }

  private func close(_ connection: Connection) {
    if let key = connection.key { loop.stop(key) }
    connection.key = nil
    connection.descriptor.empty()
    connections.removeAll { $0 === connection }
  }

  private func read(_ connection: Connection) {
    var count = 0
    let code = loop.buffer.withUnsafeMutableBytes { raw in
      raw.baseAddress.map {
        ol_read_some(connection.descriptor.number, $0, min(raw.count, 2 + NameQuestion.maxBytes), &count)
      } ?? EINVAL
    }
    if code == EAGAIN || code == EINTR { return }
    guard code == 0, count > 0 else { return close(connection) }
    connection.bytes += loop.buffer[..<count]
    while connection.bytes.count >= 2 {
      let length = Int(connection.bytes[0]) << 8 | Int(connection.bytes[1])
      guard (1...NameQuestion.maxBytes).contains(length), connection.questions < Self.maxQuestions else {
        return close(connection)
      }
      guard connection.bytes.count >= 2 + length else { return }
      guard let question = NameQuestion(connection.bytes[2..<2 + length]) else { return close(connection) }
      connection.bytes.removeFirst(2 + length)
      connection.questions += 1
      guard answer(question, connection) else { return close(connection) }
    }
  }

  /// Whether all of it was taken: an answer is shorter than what a socket holds, unless the plugin doesn't read.
  private func answer(_ question: NameQuestion, _ connection: Connection) -> Bool {
    let reply = question.reply(names.ask(question.name))
    let bytes = [UInt8(reply.count >> 8), UInt8(reply.count & 0xff)] + reply
    var done = 0
    let code = bytes.withUnsafeBytes { raw in
      raw.baseAddress.map { ol_write_some(connection.descriptor.number, $0, raw.count, &done) } ?? EINVAL
    }
    return code == 0 && done == bytes.count
  }
}
