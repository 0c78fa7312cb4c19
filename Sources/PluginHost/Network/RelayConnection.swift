internal import CLinux
internal import Glibc
internal import LinuxSystem

/// One connection of a plugin: its end in the run's namespace, and the host's to the real machine. Owns both descriptors; the loop of
/// the relay alone touches it.
final class RelayConnection {
  enum Phase { case resolving, connecting, open }

  let place: Int
  private(set) var phase = Phase.resolving
  private var inner: DescriptorSlot
  private var outer = DescriptorSlot()
  private var innerKey: UInt64?
  private var outerKey: UInt64?
  /// Addresses that haven't been tried.
  private var addresses: ArraySlice<[UInt8]> = []
  private var outward = RelayFlow()
  private var inward = RelayFlow()
  /// When it ends unless something happens.
  var due: Duration

  init(_ inner: consuming OwnedDescriptor, place: Int, due: Duration) {
    self.inner = DescriptorSlot(inner)
    self.place = place
    self.due = due
  }

  /// How an attempt to connect or to move bytes came out.
  enum Step: Equatable {
    case waiting
    /// More can be moved at once.
    case again
    case over
    /// The errno value.
    case failed(Int32)
  }

  func begin(_ addresses: [[UInt8]], port: UInt16) -> Step {
    self.addresses = addresses[...]
    phase = .connecting
    return tryNext(port: port, after: ECONNREFUSED)
  }

  /// `code`: why the last one failed.
  private func tryNext(port: UInt16, after code: Int32) -> Step {
    var last = code
    while let next = addresses.popFirst() {
      var address = ol_address(next)
      var made: Int32 = -1
      last = ol_connect(&address, port, &made)
      guard last == 0 else { continue }
      outer.fill(OwnedDescriptor(taking: made))
      return .waiting
    }
    return .failed(last)
  }

  /// The outer socket is ready for writing, or has failed.
  func connected(port: UInt16) -> Step {
    let code = ol_connection_error(outer.number)
    guard code == 0 else {
      outer.empty()
      return tryNext(port: port, after: code)
    }
    phase = .open
    return .again
  }

  /// Moves what can be moved. Returns what each side has taken.
  func move(_ buffer: inout [UInt8]) -> (step: Step, sent: Int, received: Int) {
    let out = outward.move(from: inner.number, to: outer.number, buffer: &buffer)
    let back = inward.move(from: outer.number, to: inner.number, buffer: &buffer)
    let moved = (sent: outward.takeMoved(), received: inward.takeMoved())
    let step: Step =
      switch (out, back) {
      case (.failed(let code), _), (_, .failed(let code)): .failed(code)
      case (.ended, .ended): .over
      case (.paused, _), (_, .paused): .again
      default: .waiting
      }
    return (step, moved.sent, moved.received)
  }

  /// Watches each socket for what is wanted of it now.
  func watch(on loop: EventLoop, _ body: @escaping () -> Void) throws(SystemCallError) {
    switch phase {
    case .resolving: break
    case .connecting: try watch(outer.number, .writing, &outerKey, loop, body)
    case .open:
      try watch(inner.number, interest(outward, inward), &innerKey, loop, body)
      try watch(outer.number, interest(inward, outward), &outerKey, loop, body)
    }
  }

  private func interest(_ reading: RelayFlow, _ writing: RelayFlow) -> EventLoop.Interest {
    var interest: EventLoop.Interest = []
    if reading.wantsReading { interest.insert(.reading) }
    if writing.wantsWriting { interest.insert(.writing) }
    return interest
  }

  private func watch(
    _ descriptor: Int32, _ interest: EventLoop.Interest, _ key: inout UInt64?, _ loop: EventLoop,
    _ body: @escaping () -> Void
  ) throws(SystemCallError) {
    if let key {
      try loop.change(key, to: interest)
    } else if !interest.isEmpty {
      key = try loop.watch(descriptor, for: interest, body)
    }
  }

  /// The next address has a socket of its own.
  func unwatchOuter(on loop: EventLoop) {
    if let outerKey { loop.stop(outerKey) }
    outerKey = nil
  }

  /// Closes both ends. `resets`: the plugin is told that it was cut off.
  func close(on loop: EventLoop, resets: Bool) {
    if let innerKey { loop.stop(innerKey) }
    unwatchOuter(on: loop)
    if resets {
      for descriptor in [inner.number, outer.number] where descriptor >= 0 { _ = ol_reset_at_close(descriptor) }
    }
    inner.empty()
    outer.empty()
  }
}
