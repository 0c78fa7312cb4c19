import Dispatch
import Foundation
import HostProtocol
import LinuxSystem
import Synchronization
import Testing

@testable import RunnerKit

/// Several threads of a plugin ask at once, and each gets its own answer.
@Suite(.timeLimit(.minutes(1))) struct ServiceLineTests {
  /// The host's end.
  private final class Host: Sendable {
    let descriptor: OwnedDescriptor
    let line: ServiceLine
    private let plugin: OwnedDescriptor
    private let channel: Mutex<Channel>

    init() throws {
      let (first, second) = try Sockets.pair(stream: true)
      descriptor = OwnedDescriptor(taking: first)
      plugin = OwnedDescriptor(taking: second)
      line = ServiceLine(plugin.number)
      channel = Mutex(Channel(descriptor.number))
    }

    func receive() throws -> (request: ServiceRequest, id: UInt64) {
      let frame = try #require(channel.withLock { try $0.receive() })
      return (try ServiceRequest(frame), frame.id)
    }

    func answer(_ id: UInt64, _ status: Int32) throws {
      try Sockets.send(descriptor.number, ServiceReply.status(status).frame(id: id).encoded())
    }

    func close() { shutdown(descriptor.number, Int32(SHUT_RDWR)) }
  }

  /// A thread of the plugin's. It needs none of the threads that tests run on.
  private final class Asker: Sendable {
    private let answer = Mutex<ServiceReply?>(nil)
    private let done = DispatchSemaphore(value: 0)

    init(_ host: Host, _ request: ServiceRequest) {
      Thread { [self] in
        let reply = host.line.ask(request)
        answer.withLock { $0 = reply }
        done.signal()
      }.start()
    }

    /// Once.
    func value() -> ServiceReply? {
      done.wait()
      return answer.withLock { $0 }
    }
  }

  @Test("a caller that waits for control keeps no other from an answer") func answersOutOfOrder() throws {
    let host = try Host()
    let first = Asker(host, .acquireExclusiveControl(timeout: nil))
    let waiting = try host.receive()
    for index in 0..<100 {
      let second = Asker(host, .cancel(identifier: "\(index)"))
      let question = try host.receive()
      #expect(question.request == .cancel(identifier: "\(index)"))
      host.line.tell(.releaseExclusiveControl)
      #expect(try host.receive().request == .releaseExclusiveControl)
      try host.answer(question.id, Int32(index))
      #expect(second.value() == .status(Int32(index)))
    }
    try host.answer(waiting.id, 7)
    #expect(first.value() == .status(7))
  }

  @Test("of all other questions there is one at a time") func asksInTurn() throws {
    let host = try Host()
    let tasks = (0..<20).map { Asker(host, .cancel(identifier: "\($0)")) }
    for _ in tasks {
      let (request, id) = try host.receive()
      guard case .cancel(let name) = request else {
        Issue.record("\(request)")
        return
      }
      var more = pollfd(fd: host.descriptor.number, events: Int16(POLLIN), revents: 0)
      #expect(poll(&more, 1, 1) == 0, "another question before the answer")
      try host.answer(id, Int32(name) ?? -1)
    }
    for (index, task) in tasks.enumerated() { #expect(task.value() == .status(Int32(index))) }
  }

  @Test("when the host is gone, every caller that waits hears of it", arguments: [false, true])
  func endsWithTheHost(saysNonsense: Bool) throws {
    let host = try Host()
    let tasks = (0..<8).map { _ in Asker(host, .acquireExclusiveControl(timeout: nil)) }
    for _ in tasks { _ = try host.receive() }
    if saysNonsense { try host.answer(4711, 0) } else { host.close() }
    for task in tasks { #expect(task.value() == nil) }
    if saysNonsense { host.close() }
    #expect(host.line.ask(.currentDownloads) == nil)
  }
}
