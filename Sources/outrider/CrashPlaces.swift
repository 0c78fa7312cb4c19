internal import AssetModel
internal import HostProtocol
internal import LinuxSystem
internal import PluginHost
internal import PolicyLab
internal import Sandbox

/// Where a plugin crashed and who called that, with what its debug information and the C++ library's demangler know of it. Both
/// are outside the walls that the plugin was in: the file is read by a bounded reader, and names are demangled by a plugin of
/// their own, since a name may be made to take as much time and memory as it likes.
struct CrashPlaces: Encodable {
  struct Place: Encodable {
    /// Also of a function that isn't exported; nil where nothing is known.
    var function: String?
    var file: String?
    var line: UInt64?
    var library: String
    var symbolOffset: UInt64
    var address: UInt64
  }

  private(set) var places: [Place]

  func encode(to encoder: any Encoder) throws { try places.encode(to: encoder) }

  init(_ report: RunReport, _ host: PluginHost) async {
    places = report.stack.map { frame in
      Place(
        function: frame.symbol.isEmpty ? nil : frame.symbol, library: frame.library,
        symbolOffset: frame.symbolOffset, address: frame.address)
    }
    await addSource(report, host)
    await demangle(host)
  }

  /// Of the library that was loaded; its dependencies seldom have debug information.
  private mutating func addSource(_ report: RunReport, _ host: PluginHost) async {
    guard let path = report.plugin?.path, let name = path.split(separator: "/").last.map(String.init) else { return }
    let indices = places.indices.filter { places[$0].library == name }
    guard !indices.isEmpty, let bytes = try? Files.content(of: path, limit: LibraryExploration.longest) else { return }
    let source = await DebugFinder { host }.source(of: bytes, path: path)
    let found = SourcePlaces(source, of: indices.map { places[$0].address }).places
    for (index, place) in zip(indices, found) {
      if let function = place.function { places[index].function = Printable.text(function, limit: 512) }
      (places[index].file, places[index].line) = (place.file.map { Printable.text($0, limit: 120) }, place.line)
    }
  }

  private static let longestMangled = 400
  private static let longestName = 200

  private mutating func demangle(_ host: PluginHost) async {
    let mangled = places.indices.filter { index in
      places[index].function.map { $0.hasPrefix("_Z") && $0.utf8.count <= Self.longestMangled } ?? false
    }
    guard !mangled.isEmpty else { return }
    var policy = Policy()
    policy.limits.wall = .seconds(2)
    guard let library = try? await host.load("libstdc++.so.6", policy: policy) else { return }
    for index in mangled {
      guard let name = places[index].function,
        let reply = try? await library.call(
          "__cxa_demangle", "cstring(cstring,pointer,pointer,pointer)", .text(name), .null, .null, .null),
        case .cstring(let bytes?) = reply.value
      else { continue }
      places[index].function = Printable.text(
        String(decoding: bytes.prefix(4096), as: UTF8.self), limit: Self.longestName)
    }
    _ = await library.end()
  }

  /// `#0 checksum at faulty.c:6 (faulty.so+0x1177)`
  var lines: [String] {
    places.enumerated().map { number, place in
      let function = place.function.map { name in
        place.line == nil && place.symbolOffset > 0 ? "\(name) +0x\(String(place.symbolOffset, radix: 16))" : name
      }
      let source = place.file.flatMap { file in place.line.map { " at \(file):\($0)" } } ?? ""
      let address = "\(place.library)+0x\(String(place.address, radix: 16))"
      return "#\(number) \(function.map { "\($0)\(source) (\(address))" } ?? "\(address)\(source)")"
    }
  }
}
