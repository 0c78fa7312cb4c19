/// What a host asks its fork server for, one datagram each.
package enum ServerRequest: Sendable, Equatable {
  /// A runner, now.
  case spawn(SpawnRequest)
  /// Time for a spare runner: no call is under way. It joins the cgroup whose `cgroup.procs` comes with the
  /// request, if one does. Answered by `prepared` where a spare is there then.
  case prepare
  /// The host's lease on its runners: the timer that comes with it. Once it has run out, the host isn't looking at them any
  /// more, and all of them are stopped; `stopped` says so.
  case lease
  /// The end of a runner that the host can't end itself, since it has no handle of it: it found no room for the one that was
  /// sent. One that has ended already stays as it is.
  case kill(run: UInt64)

  /// Bytes of one at most: a server reads into 64 KiB.
  package static let longest = 64 << 10

  /// As much as a fork server understands of a request. The rest names paths of one plugin, and what the server has had in
  /// its memory every later runner inherits: the runner decodes it.
  package enum Header: Sendable, Equatable {
    case spawn(run: UInt64, suitsSpare: Bool)
    case prepare
    case lease
    case kill(run: UInt64)

    package init(decoding bytes: ArraySlice<UInt8>) throws(ProtocolViolation) {
      var reader = ByteReader(bytes)
      switch try reader.integer(UInt8.self) {
      case 0:
        try reader.end()
        self = .prepare
      case 2:
        try reader.end()
        self = .lease
      case 3:
        self = .kill(run: try reader.integer())
        try reader.end()
      case 1: self = .spawn(run: try reader.integer(), suitsSpare: try reader.boolean())
      case let other: throw .unknownCase(other)
      }
    }
  }

  package func encoded() -> [UInt8] {
    switch self {
    case .spawn(let request): [1] + request.encoded()
    case .prepare: [0]
    case .lease: [2]
    case .kill(let run):
      withUnsafeBytes(of: run.littleEndian) { [3] + $0 }
    }
  }

  package init(decoding bytes: ArraySlice<UInt8>) throws(ProtocolViolation) {
    var reader = ByteReader(bytes)
    switch try reader.integer(UInt8.self) {
    case 0:
      try reader.end()
      self = .prepare
    case 2:
      try reader.end()
      self = .lease
    case 3:
      self = .kill(run: try reader.integer())
      try reader.end()
    case 1: self = .spawn(try SpawnRequest(decoding: bytes.dropFirst()))
    case let other: throw .unknownCase(other)
    }
  }
}
