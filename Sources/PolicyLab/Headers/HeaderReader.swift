internal import AssetModel
internal import Basics
internal import Glibc
internal import HostProtocol
internal import LinuxSystem
package import PluginHost
package import Sandbox

/// Reads C headers with libclang. A header may be anyone's, and libclang is large: it runs in a plugin of its own
/// (`libOutriderHeaders.so`, which lies beside the runner), which sees the folders of headers and nothing else.
package struct HeaderReader: Sendable {
  /// Why headers couldn't be read, in one sentence, and the exit status that goes with it.
  package struct Failure: Error, Sendable, CustomStringConvertible {
    package let exitStatus: Int32
    package let description: String

    init(exitStatus: Int32, _ description: String) {
      self.exitStatus = exitStatus
      self.description = description
    }
  }

  private static let library = "libOutriderHeaders.so"
  private static let maxShownProblems = 3
  private static let dataError: Int32 = 65
  private static let unavailable: Int32 = 69

  private let host: PluginHost
  private let clang: ClangLocation
  private let plugin: String

  /// - Parameters:
  ///   - host: Who runs it.
  ///   - runner: The runner's executable; found as a host finds it when nil.
  /// - Throws: Where there is no libclang, or Outrider isn't installed whole.
  package init(_ host: PluginHost, runner: String? = nil) throws(Failure) {
    self.host = host
    guard let clang = ClangLocation.find() else {
      throw Failure(
        exitStatus: Self.unavailable,
        getenv("OUTRIDER_LIBCLANG") == nil
          ? "headers are read with libclang, and there is none here: apt install libclang-dev, or name a libclang.so in OUTRIDER_LIBCLANG"
          : "OUTRIDER_LIBCLANG names no libclang.so that has its compiler's headers (clang/*/include/stddef.h) beside it"
      )
    }
    self.clang = clang
    do throws(HostError) {
      let runner = try RunnerLocation.find(runner)
      guard let plugin = RunnerLocation.library(Self.library, beside: runner) else {
        throw HostError.failed(
          """
          headers are read with \(Self.library), which is neither beside \(runner) nor in ../lib; 'swift build -c release --product \
          OutriderHeaders' makes it from Outrider's sources: put it there (docs/install.md)
          """)
      }
      self.plugin = plugin
    } catch {
      throw Failure(exitStatus: Self.unavailable, "\(error)")
    }
  }

  /// What a read may do: read the folders of headers, map libclang.
  package static func policy(folders: [String], clang: String) -> Policy {
    var policy = Policy(limits: Limits(wallTime: .seconds(30), cpu: .seconds(20), memory: 512 << 20))
    // The description, and what frames it.
    policy.limits.frameBytes = HeaderDecoder.longest + (1 << 20)
    policy.limits.fileSize = 0
    policy.limits.threads = 0
    policy.writesContainer = false
    policy.read = folders.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    policy.executableMemory = .later
    // That of the system's own folders can be mapped anyway.
    if !["/usr/lib/", "/usr/local/lib/"].contains(where: clang.hasPrefix) { policy.libraries = [clang] }
    return policy
  }

  /// - Parameters:
  ///   - request: The headers.
  ///   - option: What the user names a header by that has to be read before.
  /// - Returns: What they declare, and all that they include.
  /// - Throws: What the compiler found wrong, or how the read ended.
  package func read(_ request: HeaderRequest, before option: String) async throws(Failure) -> HeaderDescription {
    let compilation = try request.compilation(clang)
    let bytes: [UInt8]
    do throws(HostError) {
      let policy = Self.policy(folders: compilation.folders, clang: clang.library)
      let parser = try await host.load(plugin, policy: policy)
      do throws(HostError) {
        bytes = try await parse(parser, compilation)
      } catch {
        _ = await parser.end()
        throw error
      }
      _ = await parser.end()
    } catch {
      throw Failure(
        exitStatus: error.report == nil ? Self.dataError : error.report?.outcome.kind.exitStatus ?? Self.dataError,
        "\(Self.names(request)): the headers couldn't be read: \(Printable.text("\(error)", limit: 600))")
    }
    let description: HeaderDescription
    do throws(HeaderDecoder.Violation) {
      description = try HeaderDecoder.description(bytes)
    } catch {
      throw Failure(
        exitStatus: Outcome.Kind.protocolViolation.exitStatus,
        """
        \(Self.names(request)): what the compiler's library wrote of it can't be read (line \(error.line) isn't \(error.expected)): the \
        header names something with other characters than letters, digits, _ and $, or it misled that library, which ran behind walls
        """)
    }
    guard description.problems.isEmpty else {
      let shown = description.problems.prefix(Self.maxShownProblems).joined(separator: "; ")
      throw Failure(
        exitStatus: Self.dataError,
        "\(Self.names(request)): \(shown); \(Self.advice(request, before: option, shown) { Files.exists($0) })")
    }
    return description
  }

  /// A name alone is one of the system's, as in `#include <name>`.
  static func advice(
    _ request: HeaderRequest, before option: String, _ problems: String, isHere: (String) -> Bool
  ) -> String {
    let meant = request.headers.first { name in
      !name.hasSlash && problems.contains("'\(name)' file not found") && isHere(name)
    }
    return meant.map { "the one in this folder is ./\(Printable.text($0, limit: 200))" }
      ?? "--include names folders, --define macros, \(option) what has to come before"
  }

  private static func names(_ request: HeaderRequest) -> String {
    Printable.text(request.headers.joined(separator: ", "), limit: 200)
  }

  private func parse(_ parser: Plugin, _ compilation: HeaderRequest.Compilation) async throws(HostError) -> [UInt8] {
    let reply = try await parser.call(
      "outrider_header_parse", "i64(cstring,cstring,cstring)", .text(clang.library),
      .text(compilation.arguments.joined(separator: "\n")), .text(compilation.source))
    guard case .signed(let length) = reply.value, (1...Int64(HeaderDecoder.longest)).contains(length) else {
      let problem = try await parser.call("outrider_header_problem", "cstring()")
      guard case .cstring(let text?) = problem.value, !text.isEmpty else { throw .failed("no reason is given") }
      throw .failed(String(decoding: text, as: UTF8.self))
    }
    let copied = try await parser.call(
      "outrider_header_copy", "i32(out(\(length)),u64)", .unsigned(UInt64(length)))
    guard copied.value == .signed(0), copied.out.count == 1 else { throw .failed("there is no description") }
    return copied.out[0]
  }
}
