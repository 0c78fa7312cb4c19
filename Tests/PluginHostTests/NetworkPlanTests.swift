import Basics
import Glibc
import HostProtocol
import LinuxSystem
import Sandbox
import TestSupport
import Testing

@testable import PluginHost

/// What is decided about a run's network, without any.
@Suite(.timeLimit(.minutes(1))) struct NetworkPlanTests {
  private func plan(_ endpoints: String...) throws -> NetworkPlan {
    NetworkPlan(try endpoints.map { try NetworkEndpoint($0) }, sockets: 256)
  }

  @Test("each name has an address of its own, and each address is itself") func places() throws {
    let plan = try plan("a.example:1", "10.0.0.5:80", "b:1", "a.example:2", "[2001:db8::1]:3", "127.77.0.3:9")
    let addresses = plan.places.map { NetworkHost.text(of: $0.address) }
    #expect(addresses[0] == addresses[3] && addresses[0] != addresses[2] && addresses[1] == "10.0.0.5")
    #expect(addresses[4] == "2001:db8::1" && Set(addresses).count == 5, "\(addresses)")
    #expect(plan.request.hosts == "\(addresses[0]) a.example\n\(addresses[2]) b\n")
    #expect(plan.request.listeners.map(\.port) == [53, 1, 80, 1, 2, 3, 9])
    #expect(
      plan.text(of: plan.places[2].address, port: 7) == "b:7" && plan.text(of: [10, 0, 0, 6], port: 1) == "10.0.0.6:1")
    #expect(plan.place(of: [10, 0, 0, 5], port: 80) == 1 && plan.place(of: [10, 0, 0, 5], port: 81) == nil)
    let own = try self.plan("localhost:1")
    #expect(own.request.hosts == "127.77.0.2 localhost\n" && NetworkPlan.isOwn([127, 77, 255, 254], port: 1))
  }

  @Test("as many as a policy may have are told apart and fit a request") func most() throws {
    let names = (0..<64).map {
      String(repeating: "a", count: 60) + "-\($0 % 10)." + String(repeating: "b.", count: 90) + "c\($0)"
    }
    let plan = NetworkPlan(try names.map { try NetworkEndpoint("\($0):443") }, sockets: 256)
    #expect(Set(plan.places.map(\.address)).count == 64)
    #expect(plan.request.hosts.utf8.count < ServerRequest.longest / 2)
    #expect(plan.request.listeners.count + 1 <= 128 && NetworkPlan.isOwn([127, 77, 255, 253], port: 53))
  }

  @Test(
    "what the kernel holds for all connections of a run is bounded, whatever that may have open",
    arguments: [(8, 131_072), (256, 131_072), (512, 65_536), (4096, 8192), (8192, 4096), (1 << 20, 4096)])
  func buffers(sockets: Int, bytes: UInt32) {
    #expect(NetworkPlan([], sockets: sockets).request.bufferBytes == bytes)
    // Below that the kernel gives each what it needs.
    #expect(bytes == 4096 || sockets * 2 * Int(bytes) <= NetworkPlan.maxHeld)
  }

  // MARK: What packets say

  static func packet(to address: [UInt8], port: UInt16) -> [UInt8] {
    var bytes = packet(port: port)
    bytes.replaceSubrange(16..<20, with: address)
    return bytes
  }

  private static func packet(
    six: Bool = false, flags: UInt8 = 2, options: Int = 0, protocolNumber: UInt8 = 6, port: UInt16 = 443
  ) -> [UInt8] {
    let tcp: [UInt8] =
      [0x90, 0, UInt8(port >> 8), UInt8(port & 0xff)] + Array(repeating: 0, count: 8) + [0x50, flags, 0, 0]
    if six {
      let address: [UInt8] = [0x20, 1, 0xd, 0xb8] + Array(repeating: 0, count: 11) + [9]
      return [0x60, 0, 0, 0, 0, 20, protocolNumber, 64] + Array(repeating: 0, count: 16) + address + tcp
    }
    let head: [UInt8] = [
      UInt8(0x45 + options), 0, 0, 40, 0, 0, 0, 0, 64, protocolNumber, 0, 0, 127, 0, 0, 1, 10, 1, 2, 3,
    ]
    return head + Array(repeating: 1, count: options * 4) + tcp
  }

  @Test(
    "what connect(2) was given is an address and a port, or nothing",
    arguments: [
      ([2, 0, 1, 0xbb, 10, 1, 2, 3], [10, 1, 2, 3], 443),
      ([2, 0, 1, 0xbb, 10, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0], [10, 1, 2, 3], 443),
      ([10, 0, 0, 80, 0, 0, 0, 0] + [UInt8](0..<16) + [0, 0, 0, 0], [UInt8](0..<16), 80),
      (
        [10, 0, 0, 80, 0, 0, 0, 0] + [UInt8](repeating: 0, count: 10) + [255, 255, 127, 77, 0, 2], [127, 77, 0, 2], 80
      ),
      ([2, 0, 1, 0xbb, 10, 1, 2], nil, 0), ([10, 0, 0, 80, 0, 0, 0, 0, 1], nil, 0), ([], nil, 0),
      ([1, 0, 47, 97, 0, 0, 0, 0], nil, 0), ([0, 0, 0, 0, 0, 0, 0, 0], nil, 0),
    ] as [([UInt8], [UInt8]?, UInt16)])
  func addresses(bytes: [UInt8], address: [UInt8]?, port: UInt16) {
    let attempt = ConnectionAttempt(socketAddress: bytes)
    #expect(attempt?.address == address && attempt.map { $0.port == port } ?? true)
  }

  @Test("a connection leads to what is listed, to the plugin itself, to its host, or nowhere") func leads() throws {
    let plan = try plan("a.example:443", "10.0.0.5:80")
    let own = plan.places[0].address
    #expect(plan.connection(to: own, port: 443) == .listed(try NetworkEndpoint("a.example:443")))
    #expect(plan.connection(to: own, port: 80) == .refused("a.example:80"))
    #expect(plan.connection(to: [10, 0, 0, 5], port: 80) == .listed(try NetworkEndpoint("10.0.0.5:80")))
    #expect(plan.connection(to: [10, 0, 0, 6], port: 80) == .refused("10.0.0.6:80"))
    #expect(plan.connection(to: [127, 77, 255, 254], port: 1) == .pair)
    #expect(plan.connection(to: [127, 77, 255, 253], port: 53) == .question)
    // The name that was asked for isn't known here.
    #expect(plan.connection(to: try #require(plan.askedAddress(255)), port: 443) == .refused(nil))
  }

  @Test("the beginning of a connection is read, and nothing else is one") func attempts() throws {
    let four = ConnectionAttempt(packet: Self.packet()[...])
    #expect(four?.address == [10, 1, 2, 3] && four?.port == 443)
    #expect(ConnectionAttempt(packet: Self.packet(options: 3, port: 65535)[...])?.port == 65535)
    #expect(ConnectionAttempt(packet: Self.packet(six: true)[...])?.address.last == 9)
    for flags in [0x12, 0x10, 0x04, 0x01, 0] as [UInt8] {
      #expect(ConnectionAttempt(packet: Self.packet(flags: flags)[...]) == nil)
      #expect(ConnectionAttempt(packet: Self.packet(six: true, flags: flags)[...]) == nil)
    }
    #expect(ConnectionAttempt(packet: Self.packet(protocolNumber: 17)[...]) == nil)
    for packet in [Self.packet(), Self.packet(six: true), Self.packet(options: 10)] {
      for length in 0..<packet.count - 2 { #expect(ConnectionAttempt(packet: packet[..<length]) == nil) }
    }
  }

  @Test("any bytes are read without harm", arguments: 0..<8 as Range<UInt64>) func hostilePackets(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<5000 {
      var bytes = (0..<random.below(70)).map { _ in UInt8(random.below(256)) }
      if !bytes.isEmpty, random.chance(2) { bytes[0] = [0x45, 0x4f, 0x40, 0x60, 0x6f][random.below(5)] }
      if let attempt = ConnectionAttempt(packet: bytes[...]) { #expect([4, 16].contains(attempt.address.count)) }
    }
  }

  // MARK: Admission

  @Test(
    "no more are open than there may be, and none is begun faster than a second's share",
    arguments: 0..<20 as Range<UInt64>)
  func admission(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let bounds = RelayAdmission.Bounds(
      connections: 1 + random.below(8), perSecond: 1 + random.below(50), burst: 1 + random.below(20))
    var admission = RelayAdmission(bounds)
    var (now, open, begun) = (Duration.seconds(100), 0, [Duration]())
    for _ in 0..<2000 {
      if random.chance(3) { now += .milliseconds(random.below(200)) }
      if random.chance(2), open > 0 {
        admission.ended()
        open -= 1
      } else {
        switch admission.admit(at: now) {
        case nil:
          open += 1
          begun.append(now)
        case .tooMany(let most)?: #expect(open == most && most == bounds.connections)
        case .tooFast?: #expect(open < bounds.connections)
        }
      }
      #expect(admission.open == open && open <= bounds.connections)
      #expect(begun.count { now - $0 < .seconds(1) } <= bounds.burst + bounds.perSecond)
    }
    #expect(begun.count > bounds.connections, "something is let through")
  }

  @Test("a clock that goes back gives nothing away") func backwards() {
    var admission = RelayAdmission(.init(connections: 1000, perSecond: 10, burst: 2))
    #expect(admission.admit(at: .seconds(100)) == nil && admission.admit(at: .seconds(50)) == nil)
    #expect(admission.admit(at: .seconds(50)) == .tooFast(10) && admission.admit(at: .milliseconds(50_100)) == nil)
  }

  // MARK: Addresses

  @Test(
    "a name leads to no address that a policy has to name itself",
    arguments: [
      ("a.example", "127.0.0.1", false), ("a.example", "127.9.9.9", false), ("a.example", "::1", false),
      ("a.example", "::ffff:127.0.0.1", false), ("a.example", "::127.0.0.1", false), ("a.example", "0.0.0.0", false),
      ("a.example", "::", false), ("a.example", "169.254.169.254", false), ("a.example", "fe80::1", false),
      ("a.example", "224.0.0.1", false), ("a.example", "255.255.255.255", false), ("a.example", "ff02::1", false),
      ("a.example", "::ffff:169.254.169.254", false), ("a.example", "10.0.0.5", true),
      ("a.example", "93.184.216.34", true),
      ("a.example", "2001:db8::1", true), ("localhost", "127.0.0.1", true), ("localhost", "::1", true),
      ("localhost", "10.0.0.5", false), ("localhost", "169.254.1.1", false), ("127.0.0.1", "127.0.0.1", true),
    ])
  func addresses(_ host: String, _ address: String, _ isAllowed: Bool) throws {
    var bytes = [UInt8](repeating: 0, count: 16)
    let isFour = inet_pton(AF_INET, address, &bytes) == 1
    if !isFour { #expect(inet_pton(AF_INET6, address, &bytes) == 1) }
    let reason = AddressRule.rejectionReason(for: isFour ? Array(bytes.prefix(4)) : bytes, of: try NetworkHost(host))
    #expect((reason == nil) == isAllowed, "\(reason ?? "")")
  }

  // MARK: The record

  @Test("a million different places cost as many rows as a report has room for, and all are counted") func record()
    throws
  {
    var record = NetworkRecord(try plan("a:1"))
    var told = 0
    for index in 0..<1000 {
      for _ in 0..<3 where record.denied(wall: "network", target: "10.0.0.1:\(index)") != nil { told += 1 }
    }
    #expect(record.denials.count == DenialRecorder.maxRows && told == DenialRecorder.maxRows)
    #expect(record.denials.reduce(record.droppedDenials) { $0 + $1.count } == 3000)
    var recorder = DenialRecorder()
    recorder.record(wall: "network", operation: "connect", target: "10.0.0.1:0")
    for denial in record.denials { recorder.merge(denial) }
    recorder.drop(record.droppedDenials)
    #expect(recorder.denials == record.denials && recorder.dropped == record.droppedDenials)
    #expect(recorder.countsByWall["network"] == 3 * DenialRecorder.maxRows)
    #expect(record.connections.isEmpty)
  }
}
