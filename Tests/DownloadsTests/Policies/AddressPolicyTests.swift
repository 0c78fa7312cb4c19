import Basics
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(1))) struct AddressPolicyTests {
  static func policy(loopback: Bool = false, local: Bool = false, _ exceptions: [String] = []) -> AddressPolicy {
    var policy = AddressPolicy()
    policy.allowsLoopback = loopback
    policy.allowsPrivate = local
    policy.exceptions = exceptions.compactMap { AddressBlock($0) }
    return policy
  }

  static func isAllowed(_ text: String, _ policy: AddressPolicy) throws -> Bool {
    let address = try #require(NetworkAddress(text), "\(text)")
    return policy.rejectionReason(for: address) == nil
  }

  static let open = [
    "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
    "169.253.255.255",
    "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0", "192.88.98.255", "192.88.100.0",
    "192.167.255.255",
    "192.169.0.0", "198.17.255.255", "198.20.0.0", "198.51.99.255", "203.0.114.0", "223.255.255.255", "2606:4700::1111",
    "2001:200::1", "2001:db7:ffff::", "2001:db9::", "2000::1", "3fff:1000::1", "3ffe::1", "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "2002:808:808::1", "64:ff9b:1::8.8.8.8",
    "64:ff9b:1:808:8:800::",
  ]

  @Test(arguments: open) func thePublicInternetIsOpen(text: String) throws {
    #expect(try Self.isAllowed(text, Self.policy()))
  }

  static let loopback = ["127.0.0.1", "127.255.255.255", "::1", "::ffff:127.0.0.1"]
  static let local = [
    "10.0.0.0", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1", "100.127.255.255",
    "169.254.169.254",
    "fe80::1", "febf::1", "fec0::1", "feff::1", "fc00::1", "fdff::1", "fd00:ec2::254", "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::10.0.0.1", "2002:a00:1::1", "::10.0.0.1", "64:ff9b:1::192.168.0.1",
    // NAT64 prefixes of 48, 56 and 64 bits.
    "64:ff9b:1:a00:0:100::", "64:ff9b:1:a:0:1::", "64:ff9b:1:0:a:0:100:0",
  ]
  static let never = [
    "0.0.0.0", "0.1.2.3", "192.0.0.1", "192.0.0.255", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.254", "255.255.255.255", "::", "ff02::1",
    "ff0e::1",
    "2001::1", "2001:0:808:808::1", "2001:2::1", "2001:10::1", "2001:20::1", "2001:1ff::1", "2001:db8::1", "3fff::1",
    "3fff:fff::1",
    "100::1", "5f00::1", "4000::1", "8000::1", "fe00::1", "fb00::1", "200::1", "::ffff:0:0", "::ffff:255.255.255.255",
    "64:ff9b::0.0.0.0", "64:ff9b::224.0.0.1", "64:ff9b:2::8.8.8.8", "64:ff9b:1::", "64:ff9b:0:0:1::808:808",
    "2002:e000:1::",
    // Loopback of another machine.
    "64:ff9b::127.0.0.1", "64:ff9b:1::127.0.0.1", "64:ff9b:1:7f00:0:100::", "2002:7f00:1::1", "::127.0.0.1",
  ]

  @Test(arguments: loopback + local + never) func everythingElseIsShut(text: String) throws {
    #expect(try !Self.isAllowed(text, Self.policy()))
  }

  @Test(arguments: loopback) func loopbackOpensAlone(text: String) throws {
    #expect(try Self.isAllowed(text, Self.policy(loopback: true)) && !Self.isAllowed(text, Self.policy(local: true)))
  }

  @Test(arguments: local) func privateNetworksOpenAlone(text: String) throws {
    #expect(try Self.isAllowed(text, Self.policy(local: true)) && !Self.isAllowed(text, Self.policy(loopback: true)))
  }

  @Test(arguments: never) func whatIsNoHostStaysShut(text: String) throws {
    #expect(try !Self.isAllowed(text, Self.policy(loopback: true, local: true)))
  }

  @Test func exceptionsOpenWhatTheyName() throws {
    let policy = Self.policy(["10.1.0.0/16", "fd00::1", "198.18.0.0/15"])
    for text in ["10.1.255.255", "::ffff:10.1.0.1", "fd00::1", "198.19.0.1"] {
      #expect(try Self.isAllowed(text, policy), "\(text)")
    }
    for text in ["10.2.0.0", "fd00::2", "64:ff9b::10.1.0.1", "2002:a01:1::", "127.0.0.1"] {
      #expect(try !Self.isAllowed(text, policy), "\(text)")
    }
  }

  @Test func rejectionsNameTheAddress() throws {
    #expect(Self.policy().rejectionReason(for: .v4(0x7f00_0001)) == "127.0.0.1 is this machine itself")
    #expect(
      Self.policy().rejectionReason(for: try #require(NetworkAddress("::ffff:a9fe:a9fe")))
        == "::ffff:169.254.169.254 is link-local")
  }

  @Test(arguments: [[], [1], [UInt8](repeating: 0x20, count: 15), [UInt8](repeating: 0x20, count: 17)] as [[UInt8]])
  func whatIsNoAddressStaysShut(bytes: [UInt8]) {
    #expect(Self.policy(loopback: true, local: true, ["::/0"]).rejectionReason(for: .v6(bytes)) != nil)
    #expect(NetworkAddress.v6(bytes).description == "?" && AddressBlock(.v6(bytes), length: 0) == nil)
  }

  @Test(arguments: [
    "", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "0x7f.0.0.1", "127.1", "2130706433", "1.2.3.4\0", "[::1]",
    "::1%lo", "fe80::1%eth0",
    ":::", "1:2:3:4:5:6:7:8:9", " 1.2.3.4", String(repeating: "1", count: 100),
  ])
  func refusesLiterals(text: String) {
    #expect(NetworkAddress(text) == nil)
  }

  @Test(arguments: [
    "", "/", "1.2.3.4/", "1.2.3.4/33", "1.2.3.4/8", "::/129", "::1/64", "1.2.3.0/24/8", "1.2.3.0/-1", "1.2.3.0/+8",
    "host/8",
  ])
  func refusesBlocks(text: String) {
    #expect(AddressBlock(text) == nil)
  }

  /// A block holds an address exactly if their first bits are equal, and what is written is read again.
  @Test(arguments: 1...50 as ClosedRange<UInt64>) func blocksHoldTheirBits(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<100 {
      let count = Bool.random(using: &random) ? 4 : 16
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
      let length = Int.random(in: 0...count * 8, using: &random)
      func address(_ bytes: [UInt8]) -> NetworkAddress {
        count == 4 ? .v4(bytes.reduce(0) { $0 << 8 | UInt32($1) }) : .v6(bytes)
      }
      let network = bytes.enumerated().map {
        $1 & (length >= $0 * 8 + 8 ? 255 : length <= $0 * 8 ? 0 : 255 << (8 - (length - $0 * 8)))
      }
      let block = try #require(AddressBlock(address(network), length: length))
      #expect(block.contains(address(bytes)) && AddressBlock(block.description) == block, "seed \(seed): \(block)")
      #expect(NetworkAddress(address(bytes).description) == address(bytes), "seed \(seed): \(bytes)")
      guard length > 0 else { continue }
      let bit = Int.random(in: 0..<length, using: &random)
      var other = bytes
      other[bit / 8] ^= 0x80 >> (bit % 8)
      #expect(!block.contains(address(other)), "seed \(seed): \(block)")
    }
  }

  /// However an IPv4 address is dressed up, it isn't reached where it is shut itself.
  @Test(arguments: 1...50 as ClosedRange<UInt64>) func noDisguiseHelps(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let shut: [UInt32] = [0x7f00_0001, 0x0a00_0001, 0xa9fe_a9fe, 0xc0a8_0101, 0x6440_0001, 0xac10_0001, 0, 0xe000_0001]
    let zeros = [UInt8](repeating: 0, count: 10)
    for _ in 0..<100 {
      let number = shut[Int.random(in: 0..<shut.count, using: &random)]
      let v4 = NetworkAddress.v4(number).bytes
      let rest = (0..<10).map { _ in UInt8.random(in: 0...255, using: &random) }
      for disguise in [
        zeros + [0xff, 0xff] + v4, zeros + [0, 0] + v4, [0, 0x64, 0xff, 0x9b] + zeros.prefix(8) + v4,
        [0x20, 2] + v4 + rest,
      ] {
        if disguise == zeros + [0, 0, 0, 0, 0, 1] { continue }
        #expect(
          Self.policy().rejectionReason(for: .v6(disguise)) != nil, "seed \(seed): \(NetworkAddress.v6(disguise))")
      }
    }
  }
}
