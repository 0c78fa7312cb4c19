package import AssetModel

/// What a plugin asks of its host while it runs, on the service channel. `log`, `beginActivity`, `endActivity`,
/// `releaseExclusiveControl` and `observe` have no reply (their id is 0); each other request has exactly one.
package enum ServiceRequest: Sendable, Equatable {
  case log(level: UInt8, subsystem: String, category: String, message: String)
  case schedule(Download)
  case cancel(identifier: String)
  case currentDownloads
  /// Nanoseconds to wait; nil: as long as it takes.
  case acquireExclusiveControl(timeout: Int64?)
  case releaseExclusiveControl
  case beginActivity
  case endActivity
  case observe(Bool)
  /// The plugin calls a function of the host's, which the call that is under way was given.
  case callback(number: UInt8, arguments: [CallValue])

  package var expectsReply: Bool {
    switch self {
    case .schedule, .cancel, .currentDownloads, .acquireExclusiveControl, .callback: true
    case .log, .releaseExclusiveControl, .beginActivity, .endActivity, .observe: false
    }
  }

  package func frame(id: UInt64) -> Frame {
    var writer = ByteWriter()
    let kind: UInt8
    switch self {
    case .log(let level, let subsystem, let category, let message):
      kind = 128
      writer.integer(level)
      writer.string(subsystem)
      writer.string(category)
      writer.string(message)
    case .schedule(let download):
      kind = 129
      writer.download(download)
    case .cancel(let identifier):
      kind = 130
      writer.string(identifier)
    case .currentDownloads: kind = 131
    case .acquireExclusiveControl(let timeout):
      kind = 132
      writer.optional(timeout) { $0.integer($1) }
    case .releaseExclusiveControl: kind = 133
    case .beginActivity: kind = 134
    case .endActivity: kind = 135
    case .observe(let isObserving):
      kind = 136
      writer.boolean(isObserving)
    case .callback(let number, let arguments):
      kind = 137
      writer.integer(number)
      writer.array(arguments) { $1.write(to: &$0) }
    }
    return Frame(kind: kind, id: id, payload: writer.bytes)
  }

  package init(_ frame: Frame) throws(ProtocolViolation) {
    var reader = ByteReader(frame.payload)
    switch frame.kind {
    case 128:
      let level: UInt8 = try reader.integer()
      guard level <= 4 else { throw .unknownCase(level) }
      self = .log(
        level: level, subsystem: try reader.string(), category: try reader.string(), message: try reader.string())
    case 129: self = .schedule(try reader.download())
    case 130: self = .cancel(identifier: try reader.string())
    case 131: self = .currentDownloads
    case 132:
      self = .acquireExclusiveControl(
        timeout: try reader.optional { (reader) throws(ProtocolViolation) in try reader.integer() })
    case 133: self = .releaseExclusiveControl
    case 134: self = .beginActivity
    case 135: self = .endActivity
    case 136: self = .observe(try reader.boolean())
    case 137:
      self = .callback(
        number: try reader.integer(),
        arguments: try reader.array { (reader) throws(ProtocolViolation) in try CallValue(from: &reader) })
    case let other: throw .unknownKind(other)
    }
    try reader.end()
    guard expectsReply == (frame.id != 0) else { throw .unexpected("request id \(frame.id)") }
  }
}

/// The host's answer to a request of the plugin.
package enum ServiceReply: Sendable, Equatable {
  /// A `ba_status`: 0 or the raw value of a `BAErrorCode`.
  case status(Int32)
  case downloads([Download])
  /// The bits of what a function of the host's returned, and what it filled: nothing, or something for each argument that it may.
  case callback(UInt64, filled: [[UInt8]])

  package func frame(id: UInt64) -> Frame {
    var writer = ByteWriter()
    switch self {
    case .status(let status):
      writer.integer(status)
      return Frame(kind: 192, id: id, payload: writer.bytes)
    case .downloads(let downloads):
      writer.array(downloads) { $0.download($1) }
      return Frame(kind: 193, id: id, payload: writer.bytes)
    case .callback(let bits, let filled):
      writer.integer(bits)
      writer.array(filled) { $0.data($1) }
      return Frame(kind: 194, id: id, payload: writer.bytes)
    }
  }

  package init(_ frame: Frame) throws(ProtocolViolation) {
    var reader = ByteReader(frame.payload)
    switch frame.kind {
    case 192: self = .status(try reader.integer())
    case 193:
      self = .downloads(try reader.array { (reader) throws(ProtocolViolation) in try reader.download() })
    case 194:
      self = .callback(
        try reader.integer(), filled: try reader.array { (reader) throws(ProtocolViolation) in try reader.data() })
    case let other: throw .unknownKind(other)
    }
    try reader.end()
  }
}
