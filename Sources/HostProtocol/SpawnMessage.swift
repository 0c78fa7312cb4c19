/// Everything that a fork server needs to know to make one runner. It comes from the host, in one datagram, with its
/// descriptors in this order: control channel, service channel, output pipe, the memory for calls where
/// `sharesMemory`, the cgroup's `cgroup.procs` where `joinsCgroup`, where `network` the socket on which its descriptors go back, then one for each attachment whose source is `descriptor`.
package struct SpawnRequest: Sendable, Equatable {
  package struct ResourceLimit: Sendable, Equatable {
    package var resource: Int32
    package var soft: UInt64
    package var hard: UInt64

    package init(resource: Int32, soft: UInt64, hard: UInt64) {
      self.resource = resource
      self.soft = soft
      self.hard = hard
    }
  }

  package struct PathRule: Sendable, Equatable {
    package var path: String
    package var rights: UInt64

    package init(path: String, rights: UInt64) {
      self.path = path
      self.rights = rights
    }
  }

  package struct Landlock: Sendable, Equatable {
    package var filesystem: UInt64
    package var network: UInt64
    package var scoped: UInt64
    package var rules: [PathRule]

    package init(filesystem: UInt64, network: UInt64, scoped: UInt64, rules: [PathRule]) {
      self.filesystem = filesystem
      self.network = network
      self.scoped = scoped
      self.rules = rules
    }
  }

  /// Something that appears in the runner's root.
  package struct Attachment: Sendable, Equatable {
    package enum Source: Sendable, Equatable {
      /// A detached mount that the host made, the next of the request's descriptors.
      case descriptor
      /// A file or directory that the fork server clones; it must still be this device and inode.
      case path(String, device: UInt64, inode: UInt64)
      /// An empty memory filesystem of so many bytes.
      case memory(bytes: UInt64)
    }

    package var source: Source
    package var target: String
    /// `MOUNT_ATTR_…` bits (mount_setattr(2)).
    package var attributes: UInt32
    /// Make an empty file at `target` first; the directory that it lies in is one of this run's own.
    package var createsFile: Bool

    package init(source: Source, target: String, attributes: UInt32, createsFile: Bool = false) {
      self.source = source
      self.target = target
      self.attributes = attributes
      self.createsFile = createsFile
    }
  }

  /// A network namespace of the run's own, in which its host answers.
  package struct Network: Sendable, Equatable {
    /// An address of 4 or 16 bytes, and a port.
    package struct Place: Sendable, Hashable {
      package var address: [UInt8]
      package var port: UInt16

      package init(address: [UInt8], port: UInt16) { (self.address, self.port) = (address, port) }
    }

    /// Where the runner makes listeners for the host, in the order in which it sends them.
    package var listeners: [Place]
    /// What the runner's view has as /etc/hosts (hosts(5)).
    package var hosts: String
    /// Bytes that the kernel may hold of a connection each way at most.
    package var bufferBytes: UInt32

    /// Where the runner's own `socketpair` connects its pairs, at a listener that the plugin keeps (socketpair.h of the runner).
    package static let pairing = Place(address: [127, 77, 255, 254], port: 1)
    /// Where the host answers for names that `hosts` hasn't, over TCP.
    package static let resolver = Place(address: [127, 77, 255, 253], port: 53)
    /// resolv.conf(5). A host answers at once, or is gone.
    package static let resolverFile = "nameserver 127.77.255.253\noptions use-vc attempts:1 timeout:5\n"

    package init(listeners: [Place], hosts: String, bufferBytes: UInt32) {
      (self.listeners, self.hosts, self.bufferBytes) = (listeners, hosts, bufferBytes)
    }
  }

  package var run: UInt64
  package var environment: [String]
  package var limits: [ResourceLimit]
  package var landlock: Landlock?
  /// The seccomp program, or nothing where the kernel can't.
  package var filter: [UInt8]
  package var hasListener: Bool
  package var isDumpable: Bool
  package var joinsCgroup: Bool
  /// Whether host and runner share memory for calls.
  package var sharesMemory: Bool
  /// nil: no mount namespace; the runner sees the machine's own paths.
  package var attachments: [Attachment]?
  /// Mount points beyond the template's that the attachments need; one that ends in `/` is a directory.
  package var freshPoints: [String]
  /// Whether the spare runner may take this on: it joined the same cgroup, or this run has none.
  package var suitsSpare: Bool
  /// nil: no network at all.
  package var network: Network?
  /// Leaves the server's descriptors open, to show what closing them stops.
  package var keepsDescriptors: Bool
  /// Whether the runner tells the host that a file was to become longer than the limit allows.
  package var tellsFileLimit: Bool

  package init(
    run: UInt64, environment: [String], limits: [ResourceLimit], landlock: Landlock?, filter: [UInt8],
    hasListener: Bool,
    isDumpable: Bool, joinsCgroup: Bool, sharesMemory: Bool, attachments: [Attachment]?, freshPoints: [String],
    suitsSpare: Bool, network: Network? = nil, keepsDescriptors: Bool, tellsFileLimit: Bool = false
  ) {
    self.run = run
    self.environment = environment
    self.limits = limits
    self.landlock = landlock
    self.filter = filter
    self.hasListener = hasListener
    self.isDumpable = isDumpable
    self.joinsCgroup = joinsCgroup
    self.sharesMemory = sharesMemory
    self.attachments = attachments
    self.freshPoints = freshPoints
    self.suitsSpare = suitsSpare
    self.network = network
    self.keepsDescriptors = keepsDescriptors
    self.tellsFileLimit = tellsFileLimit
  }

  package func encoded() -> [UInt8] {
    var writer = ByteWriter(capacity: 8192)
    writer.integer(run)
    writer.boolean(suitsSpare)
    writer.array(environment) { $0.string($1) }
    writer.array(limits) { writer, limit in
      writer.integer(limit.resource)
      writer.integer(limit.soft)
      writer.integer(limit.hard)
    }
    writer.optional(landlock) { writer, plan in
      writer.integer(plan.filesystem)
      writer.integer(plan.network)
      writer.integer(plan.scoped)
      writer.array(plan.rules) { writer, rule in
        writer.string(rule.path)
        writer.integer(rule.rights)
      }
    }
    writer.data(filter)
    writer.boolean(hasListener)
    writer.boolean(isDumpable)
    writer.boolean(joinsCgroup)
    writer.boolean(sharesMemory)
    writer.optional(attachments) { writer, list in
      writer.array(list) { $1.write(to: &$0) }
    }
    writer.array(freshPoints) { $0.string($1) }
    writer.optional(network) { writer, network in
      writer.array(network.listeners) { writer, place in
        writer.data(place.address)
        writer.integer(place.port)
      }
      writer.string(network.hosts)
      writer.integer(network.bufferBytes)
    }
    writer.boolean(keepsDescriptors)
    writer.boolean(tellsFileLimit)
    return writer.bytes
  }

  package init(decoding bytes: ArraySlice<UInt8>) throws(ProtocolViolation) {
    var reader = ByteReader(bytes)
    run = try reader.integer()
    suitsSpare = try reader.boolean()
    environment = try reader.array { (reader) throws(ProtocolViolation) in try reader.string() }
    limits = try reader.array { (reader) throws(ProtocolViolation) in
      ResourceLimit(resource: try reader.integer(), soft: try reader.integer(), hard: try reader.integer())
    }
    landlock = try reader.optional { (reader) throws(ProtocolViolation) in
      Landlock(
        filesystem: try reader.integer(), network: try reader.integer(), scoped: try reader.integer(),
        rules: try reader.array { (reader) throws(ProtocolViolation) in
          PathRule(path: try reader.string(), rights: try reader.integer())
        })
    }
    filter = try reader.data()
    hasListener = try reader.boolean()
    isDumpable = try reader.boolean()
    joinsCgroup = try reader.boolean()
    sharesMemory = try reader.boolean()
    attachments = try reader.optional { (reader) throws(ProtocolViolation) in
      try reader.array { (reader) throws(ProtocolViolation) in try Attachment(from: &reader) }
    }
    freshPoints = try reader.array { (reader) throws(ProtocolViolation) in try reader.string() }
    network = try reader.optional { (reader) throws(ProtocolViolation) in
      Network(
        listeners: try reader.array { (reader) throws(ProtocolViolation) in
          Network.Place(address: try reader.data(), port: try reader.integer())
        }, hosts: try reader.string(), bufferBytes: try reader.integer())
    }
    keepsDescriptors = try reader.boolean()
    tellsFileLimit = try reader.boolean()
    try reader.end()
  }
}

extension SpawnRequest.Attachment {
  func write(to writer: inout ByteWriter) {
    switch source {
    case .descriptor: writer.integer(UInt8(0))
    case .path(let path, let device, let inode):
      writer.integer(UInt8(1))
      writer.string(path)
      writer.integer(device)
      writer.integer(inode)
    case .memory(let bytes):
      writer.integer(UInt8(2))
      writer.integer(bytes)
    }
    writer.string(target)
    writer.integer(attributes)
    writer.boolean(createsFile)
  }

  init(from reader: inout ByteReader) throws(ProtocolViolation) {
    switch try reader.integer(UInt8.self) {
    case 0: source = .descriptor
    case 1: source = .path(try reader.string(), device: try reader.integer(), inode: try reader.integer())
    case 2: source = .memory(bytes: try reader.integer())
    case let other: throw .unknownCase(other)
    }
    target = try reader.string()
    attributes = try reader.integer()
    createsFile = try reader.boolean()
  }
}
