public import AssetModel

/// What a runner says to the host on the control channel. Hostile from the moment the plugin is loaded.
public enum RunnerMessage: Sendable, Equatable {
  /// Every wall but the filter is closed (id 0, with the process's status as its descriptor where the runner could open
  /// it): what is used now isn't the plugin's.
  case settled
  /// The last word of trusted code: every wall is closed (id 0, with the seccomp listener as its descriptor).
  case wallsClosed(WallReport)
  case loaded(LoadedImage)
  case loadFailed(String)
  case returned(CallResult)
  /// The host knows what it asked for: neither of these two says anything that could be taken for its own words.
  case entryPointMissing
  /// What was to be called by its name isn't a function.
  case symbolIsData
  /// Written by the signal handler; the kernel's word on how the process ended comes separately.
  case crashed(CrashSite)
  /// The plugin gave an address that can't be read (id 0), and the runner ends for it.
  case wildPointer(WildPointer)

  /// How the runner fared with each step; a failed one carries its errno.
  public struct WallReport: Sendable, Equatable {
    public struct Failure: Sendable, Equatable {
      public var step: String
      public var code: Int32

      public init(step: String, code: Int32) {
        self.step = step
        self.code = code
      }
    }
    public var failures: [Failure]

    public init(failures: [Failure]) { self.failures = failures }
  }

  public struct EntryPoint: Sendable, Equatable, Codable {
    public var name: String
    public var signature: String

    public init(name: String, signature: String) {
      self.name = name
      self.signature = signature
    }
  }

  public struct LoadedImage: Sendable, Equatable {
    /// 0 for a library without a table.
    public var abiVersion: UInt32
    public var name: String
    public var isSwift: Bool
    public var entryPoints: [EntryPoint]

    public init(abiVersion: UInt32, name: String, isSwift: Bool, entryPoints: [EntryPoint]) {
      self.abiVersion = abiVersion
      self.name = name
      self.isSwift = isSwift
      self.entryPoints = entryPoints
    }
  }

  public struct CallResult: Sendable, Equatable {
    /// What the function or entry point returned.
    public var value: CallValue
    /// The content of every `out(N)`, in order.
    public var out: [[UInt8]]
    /// What a content request answered; empty for every other call.
    public var downloads: [Download]

    /// The names, shortened, of downloads that found no room in that answer.
    public var refused: [String]
    /// What a challenge answered; nil for every other call.
    public var decision: ChallengeDecision?

    public init(
      value: CallValue, out: [[UInt8]] = [], downloads: [Download] = [], refused: [String] = [],
      decision: ChallengeDecision? = nil
    ) {
      self.value = value
      self.out = out
      self.downloads = downloads
      self.refused = refused
      self.decision = decision
    }
  }

  /// An address that can't be read, and what the plugin gave it as.
  public struct WildPointer: Sendable, Equatable {
    public enum Source: UInt8, Sendable, CaseIterable {
      /// The text that a function returned.
      case result
      /// The table of an extension, and what it points to.
      case table
      /// What a function of the host was given.
      case argument
    }
    public var source: Source
    public var address: UInt64

    public init(source: Source, address: UInt64) {
      self.source = source
      self.address = address
    }
  }

  public struct CrashSite: Sendable, Equatable {
    public var signal: Int32
    public var address: UInt64
    public var instruction: UInt64
    public var stackPointer: UInt64
    public var library: String
    public var symbol: String
    public var offset: UInt64

    public init(
      signal: Int32, address: UInt64, instruction: UInt64, stackPointer: UInt64, library: String, symbol: String,
      offset: UInt64
    ) {
      self.signal = signal
      self.address = address
      self.instruction = instruction
      self.stackPointer = stackPointer
      self.library = library
      self.symbol = symbol
      self.offset = offset
    }
  }

  public func frame(id: UInt64) -> Frame {
    var writer = ByteWriter()
    let kind: UInt8
    switch self {
    case .settled: kind = 71
    case .wallsClosed(let report):
      kind = 64
      writer.array(report.failures) { writer, failure in
        writer.string(failure.step)
        writer.integer(failure.code)
      }
    case .loaded(let image):
      kind = 65
      writer.integer(image.abiVersion)
      writer.string(image.name)
      writer.boolean(image.isSwift)
      writer.array(image.entryPoints) { writer, entry in
        writer.string(entry.name)
        writer.string(entry.signature)
      }
    case .loadFailed(let message):
      kind = 66
      writer.string(message)
    case .returned(let result):
      kind = 67
      result.value.write(to: &writer)
      writer.array(result.out) { $0.data($1) }
      writer.array(result.downloads) { $0.download($1) }
      writer.array(result.refused) { $0.string($1) }
      writer.optional(result.decision) { $0.decision($1) }
    case .entryPointMissing: kind = 68
    case .symbolIsData: kind = 69
    case .crashed(let site):
      kind = Self.crashedKind
      writer.integer(site.signal)
      writer.integer(site.address)
      writer.integer(site.instruction)
      writer.integer(site.stackPointer)
      writer.string(site.library)
      writer.string(site.symbol)
      writer.integer(site.offset)
    case .wildPointer(let pointer):
      kind = 72
      writer.integer(pointer.source.rawValue)
      writer.integer(pointer.address)
    }
    return Frame(kind: kind, id: id, payload: writer.bytes)
  }

  /// Of the frame that the signal handler writes by itself.
  public static let crashedKind: UInt8 = 70

  public init(_ frame: Frame) throws(ProtocolViolation) {
    var reader = ByteReader(frame.payload)
    switch frame.kind {
    case 64:
      self = .wallsClosed(
        WallReport(
          failures: try reader.array { (reader) throws(ProtocolViolation) in
            WallReport.Failure(step: try reader.string(), code: try reader.integer())
          }))
    case 65:
      self = .loaded(
        LoadedImage(
          abiVersion: try reader.integer(), name: try reader.string(), isSwift: try reader.boolean(),
          entryPoints: try reader.array { (reader) throws(ProtocolViolation) in
            EntryPoint(name: try reader.string(), signature: try reader.string())
          }))
    case 66: self = .loadFailed(try reader.string())
    case 67:
      self = .returned(
        CallResult(
          value: try CallValue(from: &reader),
          out: try reader.array { (reader) throws(ProtocolViolation) in try reader.data() },
          downloads: try reader.array { (reader) throws(ProtocolViolation) in try reader.download() },
          refused: try reader.array { (reader) throws(ProtocolViolation) in try reader.string() },
          decision: try reader.optional { (reader) throws(ProtocolViolation) in try reader.decision() }))
    case 68: self = .entryPointMissing
    case 69: self = .symbolIsData
    case Self.crashedKind:
      self = .crashed(
        CrashSite(
          signal: try reader.integer(), address: try reader.integer(), instruction: try reader.integer(),
          stackPointer: try reader.integer(), library: try reader.string(), symbol: try reader.string(),
          offset: try reader.integer()))
    case 71: self = .settled
    case 72:
      guard let source = WildPointer.Source(rawValue: try reader.integer()) else { throw .unexpected("wildPointer") }
      self = .wildPointer(WildPointer(source: source, address: try reader.integer()))
    case let other: throw .unknownKind(other)
    }
    try reader.end()
  }
}
