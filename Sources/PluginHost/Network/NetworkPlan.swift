internal import HostProtocol
internal import Sandbox

/// Where a run finds what its policy lists, in a network namespace of its own: an address there as it is, a name at an address that
/// /etc/hosts gives it.
struct NetworkPlan: Sendable, Equatable {
  struct Place: Sendable, Hashable {
    var endpoint: NetworkEndpoint
    /// In the run's namespace; 4 or 16 bytes.
    var address: [UInt8]
  }

  /// In the order in which the runner makes the listeners.
  let places: [Place]
  private let names: [(name: String, address: [UInt8])]
  private let bufferBytes: UInt32
  /// Of names that are asked for and not listed, so many have an address at which nothing answers.
  static let maxAsked = 256

  /// Bytes that the kernel may hold for all connections of a run, its pairs among them: no counter of a process shows them, and
  /// outside version 2 no cgroup does.
  static let maxHeld = 64 << 20
  /// Bytes of one connection each way: what a small file needs, and what the kernel takes in any case.
  private static let bufferRange = 4096...131_072

  /// `sockets`: how many its processes may have open.
  init(_ endpoints: [NetworkEndpoint], sockets: Int) {
    let share = Self.maxHeld / 2 / max(sockets, 1)
    bufferBytes = UInt32(min(max(share, Self.bufferRange.lowerBound), Self.bufferRange.upperBound))
    var taken = Set(endpoints.compactMap(\.host.address))
    taken.formUnion([SpawnRequest.Network.pairing.address, SpawnRequest.Network.resolver.address])
    var names: [(name: String, address: [UInt8])] = []
    var known: [NetworkHost: [UInt8]] = [:]
    var next = 0
    places = endpoints.map { endpoint in
      if let address = endpoint.host.address ?? known[endpoint.host] {
        return Place(endpoint: endpoint, address: address)
      }
      var address: [UInt8]
      repeat {
        next += 1
        address = [127, 77, UInt8(next / 250), UInt8(next % 250 + 1)]
      } while !taken.insert(address).inserted
      known[endpoint.host] = address
      names.append((endpoint.host.text, address))
      return Place(endpoint: endpoint, address: address)
    }
    self.names = names
  }

  static func == (left: Self, right: Self) -> Bool {
    left.places == right.places && left.bufferBytes == right.bufferBytes
  }

  /// What the runner is asked for.
  var request: SpawnRequest.Network {
    .init(
      listeners: [SpawnRequest.Network.resolver]
        + places.map { .init(address: $0.address, port: $0.endpoint.port) },
      hosts: hosts, bufferBytes: bufferBytes)
  }

  /// hosts(5). Other names, `localhost` among them, are asked of the host, which so learns which port is wanted there.
  private var hosts: String { names.map { "\(NetworkHost.text(of: $0.address)) \($0.name)\n" }.joined() }

  /// Whether the plugin connects to itself there, or asks its host for a name.
  static func isOwn(_ address: [UInt8], port: UInt16) -> Bool {
    [SpawnRequest.Network.pairing, SpawnRequest.Network.resolver].contains(.init(address: address, port: port))
  }

  /// Of a listed name; nil: it isn't one.
  func address(of name: String) -> [UInt8]? { names.first { $0.name == name }?.address }

  /// Where the `index`-th name that isn't listed is said to be; nil: the policy lists that address.
  func askedAddress(_ index: Int) -> [UInt8]? {
    let address: [UInt8] = [127, 78, UInt8(index / 250), UInt8(index % 250 + 1)]
    return places.contains { $0.address == address } ? nil : address
  }

  /// Which listener has that address and port; nil: none has.
  func place(of address: [UInt8], port: UInt16) -> Int? {
    places.firstIndex { $0.address == address && $0.endpoint.port == port }
  }

  /// What the host does with a connection to a place of the run's namespace.
  enum Connection: Equatable {
    case listed(NetworkEndpoint)
    /// The plugin connects to itself.
    case pair
    /// It asks its host for a name.
    case question
    /// Nothing listens there; nil: a name was asked for that has this address for an answer, as `AskedNames` knows.
    case refused(String?)
  }

  func connection(to address: [UInt8], port: UInt16) -> Connection {
    if let place = place(of: address, port: port) { return .listed(places[place].endpoint) }
    let own = SpawnRequest.Network.Place(address: address, port: port)
    if own == SpawnRequest.Network.pairing { return .pair }
    if own == SpawnRequest.Network.resolver { return .question }
    let isAsked = (0..<Self.maxAsked).contains { askedAddress($0) == address }
    return .refused(isAsked ? nil : text(of: address, port: port))
  }

  /// How a policy would name an address of the run's namespace with a port. `asked`: the name that had that address for an answer.
  func text(of address: [UInt8], port: UInt16, asked: String? = nil) -> String {
    let host = asked ?? names.first { $0.address == address }?.name ?? NetworkHost.text(of: address)
    return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }
}
