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
    /// What the compiler made part of the function, the innermost first. What it made up itself isn't among it.
    var inlined: [Inlined]?
    var library: String
    var symbolOffset: UInt64
    var address: UInt64
    /// What a check of the compiler's found.
    fileprivate var failure: String?
    /// The library's file name as it is: by that it is found.
    fileprivate var name = ""

    private enum CodingKeys: CodingKey { case function, file, line, inlined, library, symbolOffset, address }
  }

  struct Inlined: Encodable {
    var function: String?
    var file: String?
    var line: UInt64
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
  /// What a check of Swift's found, whose trap has no message: `Swift runtime failure: arithmetic overflow`.
  private let failure: String?

  private enum CodingKeys: String, CodingKey {
    case fault, threads, untoldThreads
    case crash = "stack"
  }

  init(_ report: RunReport, _ host: PluginHost) async {
    (fault, symbol, untoldThreads) = (report.fault, report.stack.first?.symbol, report.untoldThreads)
    let stacks = [report.stack] + report.threads.map(\.frames)
    var places = stacks.joined().map(Place.init)
    await Self.addSource(report, host, &places)
    let names = await SymbolNames(host).readable(Set(places.flatMap(\.names)))
    for index in places.indices { places[index].rename(names) }
    failure = places.first.flatMap(\.failure)
    var rest = places[...]
    let found = stacks.map { stack in
      defer { rest = rest.dropFirst(stack.count) }
      return Array(rest.prefix(stack.count))
    }
    crash = found[0]
    threads = zip(report.threads, found.dropFirst()).map { Thread(number: $0.number, name: $0.name, stack: $1) }
  }

  /// Of the library that was loaded, and of those beside it. What the system has seldom has debug information.
  private static func addSource(_ report: RunReport, _ host: PluginHost, _ places: inout [Place]) async {
    guard let path = report.plugin?.path, let folder = path.parentFolder, let own = path.pathNames.last else { return }
    let others = Set(places.map(\.name)).subtracting([own]).filter {
      !$0.isEmpty && !$0.utf8.contains(UInt8(ascii: "/"))
    }
    .filter { (try? Files.identity(of: "\(folder)/\($0)"))?.isRegularFile == true }
    for name in [own] + others.sorted().prefix(maxNeighbours) {
      await addSource(of: "\(folder)/\(name)", named: name, host, &places)
    }
  }

  /// Which names there are is the plugin's word.
  private static let maxNeighbours = 4

  private static func addSource(of path: String, named name: String, _ host: PluginHost, _ places: inout [Place]) async
  {
    let indices = places.indices.filter { places[$0].name.isExactly(name) }
    guard !indices.isEmpty, let bytes = try? Files.content(of: path, limit: LibraryExploration.longest) else { return }
    let source = await DebugFinder { host }.source(of: bytes, path: path)
    let found = SourcePlaces(source, of: indices.map { places[$0].address }).places
    for (index, place) in zip(indices, found) {
      if let function = place.function { places[index].function = Printable.text(function, limit: 2000) }
      (places[index].file, places[index].line) = (place.file.map { Printable.text($0, limit: 120) }, place.line)
      places[index].add(place.inlined)
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
        ? []
        : [
          untoldThreads == 1
            ? "1 thread didn't tell where it was" : "\(untoldThreads) threads didn't tell where they were"
        ])
  }

  /// A sentence about the crash, with the function's name as it was written.
  func readable(_ sentence: String) -> String {
    var text = sentence
    if let place = crash.first, let name = place.function, let symbol, name != symbol {
      text =
        symbol.isEmpty
        ? text.replacing(" in +0x\(String(place.address, radix: 16)) of ", with: " in \(name) of ")
        : text.replacing(" in \(Printable.text(symbol, limit: 120)) +", with: " in \(name) +")
    }
    return failure.map { "\(text): \($0)" } ?? text
  }

  /// `#0 checksum at faulty.c:6 (faulty.so+0x1177)`
  private static func lines(_ places: [Place]) -> [String] {
    places.enumerated().flatMap { number, place in
      let inlined = (place.inlined ?? []).map { "\($0.function ?? "?")\(position($0.file, $0.line)), inlined in" }
      let function = place.function.map { name in
        place.line == nil && place.symbolOffset > 0 ? "\(name) +0x\(String(place.symbolOffset, radix: 16))" : name
      }
      let (source, address) = (
        position(place.file, place.line), "\(place.library)+0x\(String(place.address, radix: 16))"
      )
      let lines = inlined + [function.map { "\($0)\(source) (\(address))" } ?? "\(address)\(source)"]
      let head = "#\(number) "
      return [head + lines[0]] + lines.dropFirst().map { String(repeating: " ", count: head.count) + $0 }
    }
  }

  /// Lines of files that the compiler made up (`<compiler-generated>`) help nobody.
  private static func position(_ file: String?, _ line: UInt64?) -> String {
    guard let file, let line, !file.hasPrefix("<") else { return "" }
    return " at \(file):\(line)"
  }
}

extension StackPlaces.Place {
  fileprivate init(_ frame: RunReport.StackFrame) {
    self.init(
      function: frame.symbol.isEmpty ? nil : frame.symbol, library: frame.library, symbolOffset: frame.symbolOffset,
      address: frame.address)
    name = frame.file ?? frame.library
  }

  fileprivate var names: [String] { [function].compactMap(\.self) + (inlined ?? []).compactMap(\.function) }

  fileprivate mutating func rename(_ names: [String: String]) {
    function = function.map { names[$0] ?? $0 }
    inlined = inlined?.map { call in
      var call = call
      call.function = call.function.map { names[$0] ?? $0 }
      return call
    }
  }

  /// Those that have a line, and what Swift says in the name of a function without one.
  fileprivate mutating func add(_ calls: [SourcePlaces.Inlined]) {
    let name = calls.first?.function ?? ""
    if name.hasPrefix(Self.failurePrefix) { failure = Printable.text(name, limit: 200) }
    let written = calls.prefix(Self.maxInlined).compactMap { call in
      call.line.map { line in
        StackPlaces.Inlined(
          function: call.function.map { Printable.text($0, limit: 2000) },
          file: call.file.map { Printable.text($0, limit: 120) }, line: line)
      }
    }
    inlined = written.isEmpty ? nil : written
  }

  private static let failurePrefix = "Swift runtime failure: "
  private static let maxInlined = 16
}
