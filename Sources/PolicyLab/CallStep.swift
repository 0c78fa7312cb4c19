internal import AssetModel
package import HostProtocol
package import PluginHost
internal import Sandbox

/// One call of a test. What earlier steps of the same process saved can be named in its arguments.
package struct CallStep: Sendable, Equatable {
  package enum Source: Sendable, Equatable {
    case result
    /// Counted from 0.
    case output(Int)
  }

  package var symbol: String
  package var signature: CallSignature
  package var arguments: [String]
  /// What is kept for later steps, by the name that `$NAME` has there.
  package var save: [String: Source] = [:]
  /// What has to be returned for the test to go on.
  package var returns: String?

  package var text: String { ([symbol, "\(signature)"] + arguments).joined(separator: " ") }

  /// How many arguments come back.
  var outputs: Int { signature.outputs.count }
}

/// What the steps of a test have to name: the plugin's folders, and what earlier steps saved.
package struct StepValues: Sendable {
  private enum Saved: Sendable, Equatable {
    case value(CallValue)
    case bytes([UInt8])
  }

  /// Names that no step may save.
  package static let reserved: Set<String> = ["CONTAINER", "BUNDLE"]
  private let folders: [String: String]
  private var saved: [String: Saved] = [:]

  /// As the plugin sees them.
  package init(container: String, bundle: String) { folders = ["CONTAINER": container, "BUNDLE": bundle] }

  package mutating func save(_ result: RunnerMessage.CallResult, of step: CallStep) {
    for (name, source) in step.save {
      switch source {
      case .result: saved[name] = .value(result.value)
      case .output(let index):
        guard result.out.indices.contains(index) else {
          saved[name] = nil
          continue
        }
        if case .handle = result.outputs[index] {
          saved[name] = .value(result.outputs[index])
        } else {
          saved[name] = .bytes(result.out[index])
        }
      }
    }
  }

  /// The name that a word refers to; nil for a word that stands for itself.
  package static func reference(in word: String) -> String? {
    guard word.hasPrefix("$"), !word.hasPrefix("$$") else { return nil }
    return String(word.dropFirst().prefix { $0 != "/" })
  }

  /// nil: the word, or what was saved under it, doesn't fit. `content`: of the file that `@FILE` names.
  package func argument<Failure: Error>(
    _ word: String, _ kind: CallSignature.Kind, _ content: (String) throws(Failure) -> [UInt8]
  ) throws(Failure) -> CallArgument? {
    guard let name = Self.reference(in: word) else {
      return try CallWords.argument(word.hasPrefix("$$") ? String(word.dropFirst()) : word, kind, content)
    }
    if let folder = folders[name] {
      return try CallWords.argument(folder + word.dropFirst(1 + name.count), kind, content)
    }
    switch saved[name] {
    // The address itself, for what is to be written into a structure.
    case .value(.pointer(let value)) where kind == .bytes:
      return .bytes((0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) })
    case .value(.signed(let value)): return .integer(value)
    case .value(.unsigned(let value)), .value(.pointer(let value)): return .unsigned(value)
    case .value(.single(let value)): return .double(Double(value))
    case .value(.double(let value)): return .double(value)
    case .value(.handle(let handle)): return handle.map { .handle($0) } ?? .null
    case .value(.cstring(let text)): return text.map { .bytes($0) } ?? .null
    case .bytes(let bytes): return kind.takesBytes ? .bytes(bytes) : Self.number(bytes, kind)
    case .value, nil: return nil
    }
  }

  /// As this machine keeps numbers in memory: the lowest byte first.
  private static func number(_ bytes: [UInt8], _ kind: CallSignature.Kind) -> CallArgument? {
    guard [1, 2, 4, 8].contains(bytes.count) else { return nil }
    let bits = bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    switch kind {
    case .i8, .i16, .i32, .i64:
      let unused = 64 - 8 * bytes.count
      return .integer(Int64(bitPattern: bits << unused) >> unused)
    case .f32: return bytes.count == 4 ? .double(Double(Float(bitPattern: UInt32(bits)))) : CallWords.none
    case .f64: return bytes.count == 8 ? .double(Double(bitPattern: bits)) : CallWords.none
    default: return .unsigned(bits)
    }
  }
}

extension CallSignature.Kind {
  fileprivate var takesBytes: Bool {
    switch self {
    case .bytes, .cstring, .inOut: true
    default: false
    }
  }
}
