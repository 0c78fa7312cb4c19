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

  private static let longestMangled = 400
  private static let longestName = 200

  func demangle(_ places: inout [StackPlaces.Place]) async {
    for index in places.indices {
      guard let name = places[index].function.flatMap(RustSymbol.demangled) else { continue }
      places[index].function = Printable.text(name, limit: Self.longestName)
    }
    for language in Language.allCases {
      let mangled = places.indices.filter { index in
        places[index].function.map { language.owns($0) && $0.utf8.count <= Self.longestMangled } ?? false
      }
      guard !mangled.isEmpty, let path = language.library(host) else { continue }
      let names = await names(mangled.compactMap { places[$0].function }, language, path)
      for (index, name) in zip(mangled, names) { if let name { places[index].function = name } }
    }
  }

  private func names(_ mangled: [String], _ language: Language, _ path: String) async -> [String?] {
    var policy = Policy()
    policy.limits.wallTime = .seconds(2)
    guard let library = try? await host.load(path, policy: policy) else { return [] }
    var known: [String: String?] = [:]
    for name in mangled where known[name] == nil {
      known[name] = .some(await language.name(name, by: library))
    }
    _ = await library.end()
    return mangled.map { known[$0] ?? nil }
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
