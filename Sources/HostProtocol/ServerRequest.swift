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
  /// A signal to a runner that the host can't send itself: it has no handle of the process, having found no room for the one that was
  /// sent, or no right to signal it any more, having given up root. One that has ended already stays as it is.
  case signal(run: UInt64, RunSignal)

  /// Bytes of one at most: a server reads into 64 KiB.
  package static let longest = 64 << 10

  /// As much as a fork server understands of a request. The rest names paths of one plugin, and what the server has had in
  /// its memory every later runner inherits: the runner decodes it.
  package enum Header: Sendable, Equatable {
    case spawn(run: UInt64, suitsSpare: Bool)
    case prepare
    case lease
    case signal(run: UInt64, RunSignal)

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
        self = try Self.signal(decoding: &reader)
      case 1: self = .spawn(run: try reader.integer(), suitsSpare: try reader.boolean())
      case let other: throw .unknownCase(other)
      }
    }

    fileprivate static func signal(decoding reader: inout ByteReader) throws(ProtocolViolation) -> Self {
      let run: UInt64 = try reader.integer()
      let number = try reader.integer(UInt8.self)
      guard let signal = RunSignal(rawValue: number) else { throw .unknownCase(number) }
      try reader.end()
      return .signal(run: run, signal)
    }
  }

  package func encoded() -> [UInt8] {
    switch self {
    case .spawn(let request): [1] + request.encoded()
    case .prepare: [0]
    case .lease: [2]
    case .signal(let run, let signal):
      withUnsafeBytes(of: run.littleEndian) { [3] + $0 } + [signal.rawValue]
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
      guard case .signal(let run, let signal) = try Header.signal(decoding: &reader) else { throw .unknownCase(3) }
      self = .signal(run: run, signal)
    case 1: self = .spawn(try SpawnRequest(decoding: bytes.dropFirst()))
    case let other: throw .unknownCase(other)
    }
  }
}

/// What all processes of a run are sent.
package enum RunSignal: UInt8, Sendable, CaseIterable {
  case stop, resume, kill
}
