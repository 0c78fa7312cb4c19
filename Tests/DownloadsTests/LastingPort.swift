import DevelopmentOrigin
import TestSupport

/// Ports for origins that end and come back. The kernel gives those from 32768 on to every client that connects, also while an origin
/// is away (ip_local_port_range of ip(7)).
enum LastingPort {
  /// One that is free on these addresses.
  static func find(on addresses: [String] = ["127.0.0.1"]) throws -> UInt16 {
    for _ in 0..<100 {
      let port = UInt16.random(in: 16_384..<32_768)
      let origins = addresses.compactMap { address in
        try? Origin {
          $0.address = address
          $0.port = port
        }
      }
      for origin in origins { origin.stop() }
      if origins.count == addresses.count { return port }
    }
    throw Unexpected("no port below 32768 is free")
  }
}
