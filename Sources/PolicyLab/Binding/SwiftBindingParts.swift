/// What is the same in every file.
enum SwiftBindingParts {
  static func head(module: String, library: String) -> [String] {
    """
    /// \(library), loaded into a sandboxed process of its own: every function here is called there.
    public struct \(module): Sendable {
      /// The loaded library. `await plugin.end()` ends its process and reports what it did.
      public let plugin: Plugin

      /// Calls the functions of a library that is loaded already.
      public init(_ plugin: Plugin) { self.plugin = plugin }

      /// Loads the library into a process of its own.
      public static func load(
        on host: PluginHost, _ library: String = "\(library)", policy: Policy = Policy()
      ) async throws(HostError) -> Self {
        Self(try await host.load(library, policy: policy))
      }

      /// What a function of the library returned, to be passed back to it; nil where it returned NULL.
      public struct Handle<Pointee>: Hashable, Sendable {
        public let rawValue: PluginHandle

        public init?(rawValue: PluginHandle?) {
          guard let rawValue else { return nil }
          self.rawValue = rawValue
        }
      }
    """.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  static let wire =
    """
    /// Values as a call passes them. What comes back is the library's word: of another kind it is an error.
    nonisolated private enum Wire {
      static func misfit() -> HostError { .failed("the library's process returned a value of another kind") }

      static func text(_ value: String?) -> CallArgument { value.map { .text($0) } ?? .null }
      static func bytes(_ value: [UInt8]?) -> CallArgument { value.map { .bytes($0) } ?? .null }
      static func numbers<Number: BitwiseCopyable>(_ value: [Number]?) -> CallArgument {
        bytes(value?.withUnsafeBytes { Array($0) })
      }
      static func bytes<Number: BitwiseCopyable>(of value: Number) -> [UInt8] { Swift.withUnsafeBytes(of: value) { Array($0) } }
      static func handle(_ value: PluginHandle?) -> CallArgument { value.map { .handle($0) } ?? .null }
      /// A buffer has a byte at least.
      static func room(_ buffer: [UInt8]) -> Int { Swift.max(buffer.count, 1) }

      static func take(_ reply: CallResult, _ index: Int, _ buffer: inout [UInt8]) throws(HostError) {
        guard reply.out.indices.contains(index), reply.out[index].count == room(buffer) else { throw misfit() }
        buffer = Array(reply.out[index].prefix(buffer.count))
      }
      static func value<Number: BitwiseCopyable>(
        _ reply: CallResult, _ index: Int, as type: Number.Type
      ) throws(HostError) -> Number {
        guard reply.out.indices.contains(index), reply.out[index].count == MemoryLayout<Number>.size else {
          throw misfit()
        }
        return reply.out[index].withUnsafeBytes { $0.loadUnaligned(as: type) }
      }
      static func integer<Number: FixedWidthInteger>(
        _ value: CallValue, as type: Number.Type
      ) throws(HostError) -> Number {
        switch value {
        case .signed(let value): if let exact = Number(exactly: value) { return exact }
        case .unsigned(let value): if let exact = Number(exactly: value) { return exact }
        default: break
        }
        throw misfit()
      }
      static func number<Number: BinaryFloatingPoint>(
        _ value: CallValue, as type: Number.Type
      ) throws(HostError) -> Number {
        switch value {
        case .single(let value): return Number(value)
        case .double(let value): return Number(value)
        default: throw misfit()
        }
      }
      static func handle(_ value: CallValue) throws(HostError) -> PluginHandle? {
        guard case .handle(let handle) = value else { throw misfit() }
        return handle
      }
      static func handle(_ reply: CallResult, _ index: Int) throws(HostError) -> PluginHandle? {
        guard reply.outputs.indices.contains(index) else { throw misfit() }
        return try handle(reply.outputs[index])
      }
      static func fields(_ value: CallValue, _ count: Int) throws(HostError) -> [CallValue] {
        guard case .structure(let values) = value, values.count == count else { throw misfit() }
        return values
      }
      static func list<Element>(
        _ value: CallValue, _ count: Int, _ element: (CallValue) throws(HostError) -> Element
      ) throws(HostError) -> [Element] {
        let values: [CallValue]
        switch value {
        case .array(let found): values = found
        // What has bytes for elements comes as those.
        case .bytes(let bytes): values = bytes.map { .unsigned(UInt64($0)) }
        default: throw misfit()
        }
        guard values.count == count else { throw misfit() }
        var all: [Element] = []
        for value in values { all.append(try element(value)) }
        return all
      }
      static func bytes(_ value: CallValue, _ count: Int) throws(HostError) -> [UInt8] {
        guard case .bytes(let bytes) = value, bytes.count == count else { throw misfit() }
        return bytes
      }
      /// nil is NULL; 64 KiB of a text are read.
      static func text(_ reply: CallResult) throws(HostError) -> String? { try text(reply.value) }
      static func text(_ value: CallValue) throws(HostError) -> String? {
        guard case .cstring(let bytes) = value else { throw misfit() }
        return bytes.map { String(decoding: $0, as: UTF8.self) }
      }
      static func bytes(_ value: CallValue) throws(HostError) -> [UInt8]? {
        switch value {
        case .bytes(let bytes): return bytes
        case .pointer(0): return nil
        default: throw misfit()
        }
      }
      static func texts(_ value: CallValue) throws(HostError) -> [String?]? {
        switch value {
        case .array(let values):
          var all: [String?] = []
          for value in values { all.append(try text(value)) }
          return all
        case .pointer(0): return nil
        default: throw misfit()
        }
      }
    }
    """.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
}
