internal import StrictYAML
internal import Yams

/// Reads `network` of a policy of version 2: `none`, `pairs`, or a list of hosts with their ports.
struct NetworkReader {
  let nodes: YAMLNodes
  /// What the policy has already, of those that it extends.
  private(set) var endpoints: [NetworkEndpoint]
  private(set) var pairs: Bool
  let parent: Policy?
  /// What is more than the parent allows.
  private(set) var widenings: [(Node, String)] = []
  private var seen: Set<NetworkEndpoint> = []

  init(nodes: YAMLNodes, policy: Policy, parent: Policy?) {
    (self.nodes, endpoints, pairs, self.parent) = (nodes, policy.network, policy.socketPairs, parent)
  }

  mutating func read(_ node: Node) throws(YAMLFileError) {
    if case .scalar = node {
      let text = try nodes.scalar(node, "network")
      guard text == "none" || text == "pairs" else {
        throw nodes.error(node, "network is \(nodes.shown(text)); it is \(Self.words)")
      }
      (endpoints, pairs) = ([], text == "pairs")
      if let parent, pairs, !parent.hasNetwork { widenings.append((node, "pairs of sockets")) }
      return
    }
    guard case .sequence = node else {
      throw nodes.error(node, "network is \(Self.words)")
    }
    for item in try nodes.items(node, "network") {
      for endpoint in try read(item: item) { try add(endpoint, item) }
    }
  }

  private static let words = "none, pairs, or a list such as [example.org:443]"

  private func read(item: Node) throws(YAMLFileError) -> [NetworkEndpoint] {
    guard case .mapping = item else {
      let text = try nodes.scalar(item, "an entry of network")
      do throws(NetworkHost.Invalid) {
        return [try NetworkEndpoint(text)]
      } catch {
        throw nodes.error(item, "network: \(nodes.shown(text)) \(error.message)")
      }
    }
    var (host, ports): (NetworkHost?, [UInt16]) = (nil, [])
    for (key, value) in try nodes.pairs(item, "an entry of network", known: ["host", "ports"]) {
      if key == "host" {
        let text = try nodes.scalar(value, "host")
        do throws(NetworkHost.Invalid) {
          host = try NetworkHost(text)
        } catch {
          throw nodes.error(value, "network: \(nodes.shown(text)) \(error.message)")
        }
      } else {
        for port in try nodes.items(value, "ports") {
          ports.append(UInt16(try nodes.integer(port, "a port", 1...65535)))
        }
      }
    }
    guard let host else { throw nodes.error(item, "an entry of network needs 'host'") }
    guard !ports.isEmpty else { throw nodes.error(item, "an entry of network needs 'ports', and at least one") }
    return ports.map { NetworkEndpoint(host: host, port: $0) }
  }

  private mutating func add(_ endpoint: NetworkEndpoint, _ item: Node) throws(YAMLFileError) {
    guard seen.insert(endpoint).inserted else {
      throw nodes.error(item, "network: \(endpoint.text) is listed twice")
    }
    if let parent, !parent.network.contains(endpoint) { widenings.append((item, "connections to \(endpoint.text)")) }
    guard !endpoints.contains(endpoint) else { return }
    endpoints.append(endpoint)
    guard endpoints.count <= NetworkEndpoint.maxCount else {
      throw nodes.error(
        item, "network has more than \(NetworkEndpoint.maxCount) hosts and ports, with those that it extends")
    }
  }
}
