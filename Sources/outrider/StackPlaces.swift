internal import AssetModel
internal import Basics
internal import HostProtocol
internal import LinuxSystem
internal import PluginHost
internal import PolicyLab
internal import Sandbox

/// Where a plugin crashed and who called that, or where its threads were when its time was over, with what its debug information
/// knows of it. The file is read by a bounded reader outside the walls that the plugin was in.
struct StackPlaces: Encodable {
  struct Place: Encodable {
    /// Also of a function that isn't exported; nil where nothing is known.
    var function: String?
    var file: String?
    var line: UInt64?
    var library: String
    var symbolOffset: UInt64
    var address: UInt64
  }

  struct Thread: Encodable {
    var number: UInt32
    var name: String
    var stack: [Place]
  }

  private(set) var crash: [Place]
  private(set) var threads: [Thread]
  let fault: RunReport.Fault?
  let untoldThreads: Int
  /// The function that crashed, as its library has it.
  private let symbol: String?

  private enum CodingKeys: String, CodingKey {
    case fault, threads, untoldThreads
    case crash = "stack"
  }

  init(_ report: RunReport, _ host: PluginHost) async {
    (fault, symbol, untoldThreads) = (report.fault, report.stack.first?.symbol, report.untoldThreads)
    let stacks = [report.stack] + report.threads.map(\.frames)
    var places = stacks.joined().map(Place.init)
    await Self.addSource(report, host, &places)
    await SymbolNames(host).demangle(&places)
    var rest = places[...]
    let found = stacks.map { stack in
      defer { rest = rest.dropFirst(stack.count) }
      return Array(rest.prefix(stack.count))
    }
    crash = found[0]
    threads = zip(report.threads, found.dropFirst()).map { Thread(number: $0.number, name: $0.name, stack: $1) }
  }

  /// Of the library that was loaded; its dependencies seldom have debug information.
  private static func addSource(_ report: RunReport, _ host: PluginHost, _ places: inout [Place]) async {
    guard let path = report.plugin?.path, let name = path.pathNames.last else { return }
    let indices = places.indices.filter { places[$0].library == name }
    guard !indices.isEmpty, let bytes = try? Files.content(of: path, limit: LibraryExploration.longest) else { return }
    let source = await DebugFinder { host }.source(of: bytes, path: path)
    let found = SourcePlaces(source, of: indices.map { places[$0].address }).places
    for (index, place) in zip(indices, found) {
      if let function = place.function { places[index].function = Printable.text(function, limit: 512) }
      (places[index].file, places[index].line) = (place.file.map { Printable.text($0, limit: 120) }, place.line)
    }
  }

  var lines: [String] {
    (fault.map { [$0.text] } ?? [])
      + Self.lines(crash)
      + threads.flatMap { thread in
        let name = thread.name.isEmpty ? "" : " (\(thread.name))"
        return ["thread \(thread.number)\(name) was in"] + Self.lines(thread.stack).map { "  \($0)" }
      }
      + (untoldThreads == 0
        ? [] : ["\(untoldThreads == 1 ? "1 thread" : "\(untoldThreads) threads") didn't tell where they were"])
  }

  /// A sentence about the crash, with the function's name as it was written.
  func readable(_ sentence: String) -> String {
    guard let symbol, !symbol.isEmpty, let name = crash.first?.function, name != symbol else { return sentence }
    return sentence.replacing(" in \(Printable.text(symbol, limit: 120)) +", with: " in \(name) +")
  }

  /// `#0 checksum at faulty.c:6 (faulty.so+0x1177)`
  private static func lines(_ places: [Place]) -> [String] {
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

extension StackPlaces.Place {
  fileprivate init(_ frame: RunReport.StackFrame) {
    self.init(
      function: frame.symbol.isEmpty ? nil : frame.symbol, library: frame.library, symbolOffset: frame.symbolOffset,
      address: frame.address)
  }
}
