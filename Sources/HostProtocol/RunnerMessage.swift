/// What a runner says to the host on the control channel. Hostile from the moment the plugin is loaded.
package enum RunnerMessage: Sendable, Equatable {
  /// Every wall but the filter is closed (id 0, with the process's status as its descriptor where the runner could open
  /// it): what is used now isn't the plugin's.
  case ready
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
  /// Who called what crashed: one for each frame of the stack, the innermost first, after `crashed`.
  case stackFrame(StackFrame)
  /// A frame of the stack of a thread, by its number, that the host asked where it is: one for each, the innermost first.
  case threadFrame(thread: UInt32, StackFrame)
  /// The thread has told all of its frames, and goes no further.
  case threadTold(thread: UInt32, name: String)
  /// The plugin gave an address that can't be read (id 0), and the runner ends for it.
  case wildPointer(WildPointer)
  /// The answer to the question of this id lies in the memory that host and runner share: the host wasn't looking there.
  case answered
  /// What came isn't a question of the host's (id 0): the plugin has changed or taken what was asked. The runner ends for it.
  case corruptQuestion
  /// The plugin called a function of the host's on a thread on which one was under way (id 0), and the runner ends for it.
  case reenteredCallback

  /// How the runner fared with each step; a failed one carries its errno.
  package struct WallReport: Sendable, Equatable {
    package struct Failure: Sendable, Equatable {
      package var step: String
      package var code: Int32

      package init(step: String, code: Int32) {
        self.step = step
        self.code = code
      }
    }
    package var failures: [Failure]

    package init(failures: [Failure]) { self.failures = failures }
  }

  package struct EntryPoint: Sendable, Equatable, Codable {
    package var name: String
    package var signature: String

    package init(name: String, signature: String) {
      self.name = name
      self.signature = signature
    }
  }

  package struct LoadedImage: Sendable, Equatable {
    /// 0 for a library without a table.
    package var abiVersion: UInt32
    package var name: String
    package var isSwift: Bool
    package var entryPoints: [EntryPoint]

    package init(abiVersion: UInt32, name: String, isSwift: Bool, entryPoints: [EntryPoint]) {
      self.abiVersion = abiVersion
      self.name = name
      self.isSwift = isSwift
      self.entryPoints = entryPoints
    }
  }

  package typealias CallResult = HostProtocol.CallResult

  /// An address that can't be read, and what the plugin gave it as.
  package struct WildPointer: Sendable, Equatable {
    package enum Source: UInt8, Sendable, CaseIterable {
      /// The text that a function returned.
      case result
      /// The table of an extension, and what it points to.
      case table
      /// What a function of the host was given.
      case argument
    }
    package var source: Source
    package var address: UInt64

    package init(source: Source, address: UInt64) {
      self.source = source
      self.address = address
    }
  }

  package struct StackFrame: Sendable, Equatable {
    package var index: UInt32
    package var library: String
    /// Empty where no exported function is known.
    package var symbol: String
    /// Bytes from the symbol's beginning; 0 where there is none.
    package var symbolOffset: UInt64
    /// The address as the file has it.
    package var address: UInt64

    package init(index: UInt32, library: String, symbol: String, symbolOffset: UInt64, address: UInt64) {
      self.index = index
      self.library = library
      self.symbol = symbol
      self.symbolOffset = symbolOffset
      self.address = address
    }

    fileprivate init(from reader: inout ByteReader) throws(ProtocolViolation) {
      index = try reader.integer()
      library = try reader.string()
      symbol = try reader.string()
      symbolOffset = try reader.integer()
      address = try reader.integer()
    }

    fileprivate func write(to writer: inout ByteWriter) {
      writer.integer(index)
      writer.string(library)
      writer.string(symbol)
      writer.integer(symbolOffset)
      writer.integer(address)
    }
  }

  package struct CrashSite: Sendable, Equatable {
    /// 0: it called exit(3) or the like.
    package var signal: Int32
    package var address: UInt64
    package var instruction: UInt64
    package var stackPointer: UInt64
    package var library: String
    package var symbol: String
    package var offset: UInt64
    /// `si_code` (sigaction(2)): why the kernel sent the signal; not positive where a process sent it.
    package var code: Int32
    package var access: Access
    /// The library that the address is in, and where; empty where it is in none.
    package var faultLibrary: String
    package var faultOffset: UInt64

    /// What it wanted to do with the memory at the address.
    package enum Access: UInt8, Sendable { case unknown, read, write, execute }

    package init(
      signal: Int32, address: UInt64, instruction: UInt64, stackPointer: UInt64, library: String, symbol: String,
      offset: UInt64, code: Int32 = 0, access: Access = .unknown, faultLibrary: String = "", faultOffset: UInt64 = 0
    ) {
      self.signal = signal
      self.address = address
      self.instruction = instruction
      self.stackPointer = stackPointer
      self.library = library
      self.symbol = symbol
      self.offset = offset
      (self.code, self.access) = (code, access)
      (self.faultLibrary, self.faultOffset) = (faultLibrary, faultOffset)
    }

    fileprivate init(from reader: inout ByteReader) throws(ProtocolViolation) {
      self.init(
        signal: try reader.integer(), address: try reader.integer(), instruction: try reader.integer(),
        stackPointer: try reader.integer(), library: try reader.string(), symbol: try reader.string(),
        offset: try reader.integer(), code: try reader.integer())
      guard let access = Access(rawValue: try reader.integer()) else { throw .unexpected("access") }
      self.access = access
      (faultLibrary, faultOffset) = (try reader.string(), try reader.integer())
    }

    fileprivate func write(to writer: inout ByteWriter) {
      writer.integer(signal)
      for word in [address, instruction, stackPointer] { writer.integer(word) }
      writer.string(library)
      writer.string(symbol)
      writer.integer(offset)
      writer.integer(code)
      writer.integer(access.rawValue)
      writer.string(faultLibrary)
      writer.integer(faultOffset)
    }
  }

  package func frame(id: UInt64) -> Frame {
    var writer = ByteWriter()
    let kind: UInt8
    switch self {
    case .ready: kind = 71
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
      kind = Self.returnedKind
      result.value.write(to: &writer)
      writer.array(result.out) { $0.data($1) }
      writer.array(result.downloads) { $0.download($1) }
      writer.array(result.refused) { $0.string($1) }
      writer.optional(result.decision) { $0.decision($1) }
    case .entryPointMissing: kind = 68
    case .symbolIsData: kind = 69
    case .crashed(let site):
      kind = Self.crashedKind
      site.write(to: &writer)
    case .stackFrame(let frame):
      kind = Self.stackFrameKind
      frame.write(to: &writer)
    case .threadFrame(let thread, let frame):
      kind = Self.threadFrameKind
      writer.integer(thread)
      frame.write(to: &writer)
    case .threadTold(let thread, let name):
      kind = Self.threadToldKind
      writer.integer(thread)
      writer.string(name)
    case .wildPointer(let pointer):
      kind = 72
      writer.integer(pointer.source.rawValue)
      writer.integer(pointer.address)
    case .answered: kind = 73
    case .corruptQuestion: kind = 74
    case .reenteredCallback: kind = 76
    }
    return Frame(kind: kind, id: id, payload: writer.bytes)
  }

  package static let returnedKind: UInt8 = 67
  /// In memory that both share, of a call by words: the word that was returned lies beside the answer. No frame has it.
  package static let returnedWordKind: UInt8 = 75
  /// Of the messages that the signal handler writes by itself.
  package static let crashedKind: UInt8 = 70
  package static let stackFrameKind: UInt8 = 80
  package static let threadFrameKind: UInt8 = 81
  package static let threadToldKind: UInt8 = 82

  /// `area`: where a function's answer may have placed long data.
  package init(_ frame: Frame, area: UnsafeRawBufferPointer? = nil) throws(ProtocolViolation) {
    var reader = ByteReader(frame.payload[...], area: frame.kind == Self.returnedKind ? area : nil)
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
    case Self.returnedKind:
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
      self = .crashed(try CrashSite(from: &reader))
    case Self.stackFrameKind:
      self = .stackFrame(try StackFrame(from: &reader))
    case Self.threadFrameKind:
      self = .threadFrame(thread: try reader.integer(), try StackFrame(from: &reader))
    case Self.threadToldKind:
      self = .threadTold(thread: try reader.integer(), name: try reader.string())
    case 71: self = .ready
    case 72:
      guard let source = WildPointer.Source(rawValue: try reader.integer()) else { throw .unexpected("wildPointer") }
      self = .wildPointer(WildPointer(source: source, address: try reader.integer()))
    case 73: self = .answered
    case 74: self = .corruptQuestion
    case 76: self = .reenteredCallback
    case let other: throw .unknownKind(other)
    }
    try reader.end()
  }
}
