/// Long data that lies beside a payload, in memory that host and runner share, and not within it: the runner's function gets its
/// address, and no copy. In the payload stand its count, marked, and its place in the area.
package struct PlacedData: Sendable, Equatable {
  /// Shorter data is part of the payload.
  package static let shortest = 4096
  /// Bytes of an area that are a payload's, where data is placed behind it.
  package static let payloadRoom = 16 << 10
  /// What a runner has used of the area for answers and clears when they have been copied: less is cleared faster than that is told.
  package static let minClearedBytes = 64 << 10
  /// No frame is as long as this.
  static let mark: UInt32 = 1 << 31

  /// From the area's start.
  package var offset: Int
  package var count: Int

  package init(offset: Int, count: Int) {
    self.offset = offset
    self.count = count
  }
}

/// Gives out room in an area, for one frame.
package struct AreaRoom: Sendable {
  private let capacity: Int
  /// Bytes of the area that are taken, with the payload's.
  package private(set) var used = PlacedData.payloadRoom

  package init(capacity: Int) { self.capacity = capacity }

  package var isEmpty: Bool { used == PlacedData.payloadRoom }

  /// Room for so many bytes and a NUL behind them; nil where there is none.
  package mutating func place(_ count: Int) -> PlacedData? {
    guard count >= 0, used <= capacity, count < capacity - used else { return nil }
    defer { used = (used + count + 16) & ~15 }
    return PlacedData(offset: used, count: count)
  }
}

/// The call of a function as its runner reads it: long data stays where the host placed it.
package struct PlacedCall: Sendable, Equatable {
  package enum Argument: Sendable, Equatable {
    case value(CallValue)
    case placed(PlacedData)
  }

  package var symbol: String
  package var signature: String
  package var arguments: [Argument]

  package init(symbol: String, signature: String, arguments: [Argument]) {
    self.symbol = symbol
    self.signature = signature
    self.arguments = arguments
  }

  /// The kind of a frame that calls a function.
  package static let kind: UInt8 = 5

  /// Places what is long among `arguments`, and says what is to be copied where; nil where there is no room.
  package init?(symbol: String, signature: String, placing values: [CallValue], in room: inout AreaRoom) {
    var arguments: [Argument] = []
    arguments.reserveCapacity(values.count)
    for value in values {
      switch value {
      case .bytes(let bytes) where bytes.count >= PlacedData.shortest,
        .cstring(let bytes?) where bytes.count >= PlacedData.shortest:
        guard let place = room.place(bytes.count) else { return nil }
        arguments.append(.placed(place))
      default: arguments.append(.value(value))
      }
    }
    self.init(symbol: symbol, signature: signature, arguments: arguments)
  }

  package var payload: [UInt8] {
    var writer = ByteWriter()
    writer.string(symbol)
    writer.string(signature)
    writer.integer(UInt32(arguments.count))
    for argument in arguments {
      switch argument {
      case .value(let value): value.write(to: &writer)
      case .placed(let place):
        writer.integer(CallValue.bytesCase)
        writer.placed(place)
      }
    }
    return writer.bytes
  }

  /// `area`: bytes that the area has; what is said to lie beyond it is a violation.
  package init(payload: [UInt8], area: Int) throws(ProtocolViolation) {
    var reader = ByteReader(payload)
    symbol = try reader.string()
    signature = try reader.string()
    arguments = try reader.array { (reader) throws(ProtocolViolation) in
      guard reader.isPlaced(after: CallValue.bytesCase) else { return .value(try CallValue(from: &reader)) }
      _ = try reader.integer(UInt8.self)
      return .placed(try reader.placed(area: area))
    }
    try reader.end()
  }
}

/// What a function returned, as its runner writes it: a long `out(N)` stays where the function filled it.
package struct PlacedAnswer: Sendable, Equatable {
  package enum Buffer: Sendable, Equatable {
    case bytes([UInt8])
    case placed(PlacedData)
  }

  package var value: CallValue
  package var out: [Buffer]

  package init(value: CallValue, out: [Buffer]) {
    self.value = value
    self.out = out
  }

  /// A payload as `RunnerMessage.returned` has it, but for what is placed.
  package var payload: [UInt8] {
    var writer = ByteWriter()
    value.write(to: &writer)
    writer.integer(UInt32(out.count))
    for buffer in out {
      switch buffer {
      case .bytes(let bytes): writer.data(bytes)
      case .placed(let place): writer.placed(place)
      }
    }
    // No downloads, nothing refused, no decision.
    writer.integer(UInt32(0))
    writer.integer(UInt32(0))
    writer.boolean(false)
    return writer.bytes
  }
}
