internal import AssetModel
internal import HostProtocol
internal import PluginHost
internal import PolicyLab
internal import Sandbox

/// Names of functions as people wrote them. A demangler is code of the C++ library's and of Swift's, and a name may be made to
/// take as much time and memory as it likes: each is run in a plugin of its own. Rust's is this program's own, which is bounded.
struct SymbolNames {
  private let host: PluginHost

  init(_ host: PluginHost) { self.host = host }

  private static let longestMangled = 2000
  private static let longestName = 200

  /// What is known of each; the others stay as they are.
  func readable(_ names: Set<String>) async -> [String: String] {
    var found: [String: String] = [:]
    for name in names {
      found[name] = RustSymbol.demangled(name).map { Printable.text($0, limit: Self.longestName) }
    }
    for language in Language.allCases {
      let mangled = names.filter { language.owns($0) && $0.utf8.count <= Self.longestMangled && found[$0] == nil }
      guard !mangled.isEmpty, let path = language.library(host) else { continue }
      found.merge(await demangled(mangled.sorted(), language, path)) { $1 }
    }
    return found
  }

  private func demangled(_ names: [String], _ language: Language, _ path: String) async -> [String: String] {
    var policy = Policy()
    policy.limits.wallTime = .seconds(2)
    guard let library = try? await host.load(path, policy: policy) else { return [:] }
    var found: [String: String] = [:]
    for name in names { found[name] = await language.name(name, by: library) }
    _ = await library.end()
    return found
  }

  private enum Language: CaseIterable {
    case cPlusPlus, swift

    func owns(_ name: String) -> Bool {
      switch self {
      case .cPlusPlus: name.hasPrefix("_Z")
      case .swift: name.hasPrefix("$s") || name.hasPrefix("_$s")
      }
    }

    /// nil where this machine hasn't got it.
    func library(_ host: PluginHost) -> String? {
      switch self {
      case .cPlusPlus: "libstdc++.so.6"
      // It links Swift's runtime, which has a demangler.
      case .swift: host.preloadedLibrary
      }
    }

    func name(_ mangled: String, by library: Plugin) async -> String? {
      let reply =
        switch self {
        case .cPlusPlus:
          try? await library.call(
            "__cxa_demangle", "cstring(cstring,pointer,pointer,pointer)", .text(mangled), .null, .null, .null)
        case .swift:
          try? await library.call(
            "swift_demangle", "cstring(cstring,u64,pointer,pointer,u32)", .text(mangled),
            .unsigned(UInt64(mangled.utf8.count)),
            .null, .null, .unsigned(0))
        }
      guard case .cstring(let bytes?)? = reply?.value else { return nil }
      return Printable.text(String(decoding: bytes.prefix(4096), as: UTF8.self), limit: SymbolNames.longestName)
    }
  }
}
