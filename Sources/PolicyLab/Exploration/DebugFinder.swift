internal import Basics
internal import Glibc
internal import HostProtocol
internal import LinuxSystem
package import PluginHost
internal import Sandbox

/// Finds the debug information of a library, also where it lies in a file of its own or is compressed. Who made the library made
/// what it names, too: only names of files that Debian's tools use are looked at, what is found has to belong to the library, and
/// compressed sections are expanded by a plugin, inside the walls.
package struct DebugFinder {
  private let host: () throws -> PluginHost
  /// Where distributions keep what they stripped off.
  private let folder: String

  private static let longestLink = 255

  /// - Parameters:
  ///   - folder: Where distributions keep what they stripped off.
  ///   - host: Asked for where something has to be expanded.
  package init(folder: String = "/usr/lib/debug", host: @escaping () throws -> PluginHost) {
    (self.folder, self.host) = (folder, host)
  }

  /// - Parameters:
  ///   - bytes: The library's file.
  ///   - path: Where it lies, absolute and without links.
  /// - Returns: The best that was found; the library's own file where there is nothing.
  package func source(of bytes: [UInt8], path: String) async -> DebugSource {
    let file = LibraryBytes(bytes: bytes)
    let facts = LibraryFacts(file)
    if !facts.hasDebugInformation, let (path, bytes) = separate(facts, path) {
      let file = LibraryBytes(bytes: bytes)
      return await expanded(file, LibraryFacts(file), path)
    }
    return await expanded(file, facts, nil)
  }

  // MARK: Files of their own

  private func separate(_ facts: LibraryFacts, _ path: String) -> (path: String, bytes: [UInt8])? {
    for candidate in candidates(facts, path) {
      guard let bytes = Self.content(of: candidate) else { continue }
      let file = LibraryBytes(bytes: bytes)
      let found = LibraryFacts(file)
      // A file of another version of the library has other functions.
      let belongs =
        facts.buildIdentifier.isEmpty
        ? facts.debugLink.map { $0.checksum == Self.checksum(bytes) } ?? false
        : found.buildIdentifier == facts.buildIdentifier
      if belongs, found.hasDebugInformation { return (candidate, bytes) }
    }
    return nil
  }

  private func candidates(_ facts: LibraryFacts, _ path: String) -> [String] {
    var paths: [String] = []
    let identifier = facts.buildIdentifier
    if identifier.count > 1 {
      paths.append(
        "\(folder)/.build-id/\(Hexadecimal.text(identifier.prefix(1)))/\(Hexadecimal.text(identifier.dropFirst())).debug"
      )
    }
    if let name = facts.debugLink?.name, !name.isEmpty, !name.hasSlash, name != ".", name != "..",
      name.utf8.count <= Self.longestLink
    {
      let own = path.parentFolder ?? ""
      paths += ["\(own)/\(name)", "\(own)/.debug/\(name)", "\(folder)\(own)/\(name)"].filter { $0 != path }
    }
    return paths
  }

  private static func content(of path: String) -> [UInt8]? {
    // Not waiting for a process that writes to a pipe of that name.
    guard let file = try? OwnedDescriptor.open(path, O_RDONLY | O_NONBLOCK), let identity = try? file.identity(),
      identity.isRegularFile, identity.size <= LibraryExploration.longest
    else { return nil }
    return try? file.readAll(limit: LibraryExploration.longest)
  }

  /// That of a `.gnu_debuglink`: CRC-32 as zlib has it.
  static func checksum(_ bytes: [UInt8]) -> UInt32 {
    let table = (0..<256).map { (byte: UInt32) in
      (0..<8).reduce(byte) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xedb8_8320 : value >> 1 }
    }
    return ~bytes.reduce(~UInt32(0)) { value, byte in table[Int((value ^ UInt32(byte)) & 0xff)] ^ value >> 8 }
  }

  // MARK: Compressed sections

  private func expanded(_ file: LibraryBytes, _ facts: LibraryFacts, _ path: String?) async -> DebugSource {
    guard !facts.compressed.isEmpty else {
      return DebugSource(file: file, sections: facts.sections, path: path, problem: facts.debugProblem)
    }
    guard facts.compressed.reduce(0, { $0 + $1.size }) <= CompressedSection.longestOfAll else {
      return DebugSource(
        file: file, sections: facts.sections, path: path,
        problem: "its debug information has more than \(CompressedSection.longestOfAll >> 20) MiB")
    }
    var (bytes, sections, problem) = (file.bytes, facts.sections, facts.debugProblem)
    for method in [CompressedSection.Method.zlib, .zstandard] {
      let wanted = facts.compressed.filter { $0.method == method }
      guard !wanted.isEmpty else { continue }
      do {
        for (name, content) in try await Self.expand(wanted, file, method, try host()) {
          sections[name] = bytes.count..<bytes.count + content.count
          bytes += content
        }
      } catch {
        problem = "its debug information is compressed, and \(method.library) couldn't expand it: \(error)"
      }
    }
    return DebugSource(file: LibraryBytes(bytes: bytes), sections: sections, path: path, problem: problem)
  }

  private static func expand(
    _ sections: [CompressedSection], _ file: LibraryBytes, _ method: CompressedSection.Method, _ host: PluginHost
  ) async throws(HostError) -> [(String, [UInt8])] {
    var policy = Policy(limits: Limits(wallTime: .seconds(10), cpu: .seconds(10), memory: 512 << 20))
    policy.limits.frameBytes = CompressedSection.longest + (1 << 20)
    policy.limits.threads = 0
    policy.writesContainer = false
    let library = try await host.load(method.library, policy: policy)
    var result: [(String, [UInt8])] = []
    do throws(HostError) {
      for section in sections {
        let given = CallArgument.bytes(Array(file.bytes[section.range]))
        let (size, count) = (
          CallArgument.unsigned(UInt64(section.size)), CallArgument.unsigned(UInt64(section.range.count))
        )
        let reply: CallResult
        let isWhole: Bool
        switch method {
        case .zlib:
          reply = try await library.call(
            "uncompress", "i32(out(\(section.size)),inout(8),bytes,u64)", .bytes(Self.bytes(of: section.size)), given,
            count)
          isWhole = reply.value == .signed(0) && reply.out.last == Self.bytes(of: section.size)
        case .zstandard:
          reply = try await library.call(
            "ZSTD_decompress", "u64(out(\(section.size)),u64,bytes,u64)", size, given, count)
          isWhole = reply.value == .unsigned(UInt64(section.size))
        }
        guard isWhole, let content = reply.out.first, content.count == section.size else {
          throw HostError.failed("\(section.name) isn't what it says")
        }
        result.append((section.name, content))
      }
    } catch {
      _ = await library.end()
      throw error
    }
    _ = await library.end()
    return result
  }

  private static func bytes(of number: Int) -> [UInt8] {
    withUnsafeBytes(of: UInt64(number).littleEndian) { Array($0) }
  }
}
