internal import Basics

/// Which functions and lines of the source some addresses of a library's file belong to, by its symbols and its debug
/// information (DWARF 2 to 5 of 32 bits). The file may say anything: what is read is bounded.
package struct SourcePlaces: Sendable {
  /// What is known of one address.
  package struct Place: Sendable, Equatable {
    /// Also of functions that aren't exported.
    package var function: String?
    /// The last component of its path.
    package var file: String?
    package var line: UInt64?
    /// Functions that the compiler made part of this one at the address, the innermost first: each called the one before it in
    /// its line.
    package var inlined: [Inlined] = []

    package init(function: String? = nil, file: String? = nil, line: UInt64? = nil) {
      (self.function, self.file, self.line) = (function, file, line)
    }
  }

  package struct Inlined: Sendable, Equatable {
    /// As its symbol would be.
    package var function: String?
    package var file: String?
    /// nil: the compiler made it up.
    package var line: UInt64?
  }

  /// In the order of the addresses.
  package private(set) var places: [Place]

  /// Instructions of all line programs that are carried out.
  private static let maxSteps = 20_000_000

  private let file: LibraryBytes
  private let sections: [String: Range<Int>]
  private let addresses: [UInt64]
  private var stepsLeft = maxSteps

  /// - Parameters:
  ///   - bytes: The library's file.
  ///   - addresses: As the file has them; of a call the last byte of its instruction.
  package init(_ bytes: [UInt8], of addresses: [UInt64]) { self.init(DebugSource(bytes), of: addresses) }

  /// - Parameters:
  ///   - source: Where the library's debug information is.
  ///   - addresses: As the library's file has them; of a call the last byte of its instruction.
  package init(_ source: DebugSource, of addresses: [UInt64]) {
    (file, sections) = (source.file, source.sections)
    self.addresses = addresses
    places = Array(repeating: Place(), count: addresses.count)
    findFunctions()
    guard let lines = sections[".debug_line"] else { return }
    var at = lines.lowerBound
    while let end = programEnd(at, lines.upperBound) {
      if let program = LineProgram(file, at, end, sections) { run(program) }
      at = end
      guard stepsLeft > 0 else { break }
    }
    let inlined = InlinedCalls(source, of: addresses)
    var programs: [UInt64: LineProgram?] = [:]
    for (index, calls) in inlined.calls.enumerated() { place(calls, at: index, in: lines, &programs) }
  }

  /// The line of an address is one of the innermost function's; that of each other function is the one of the call.
  private mutating func place(
    _ calls: [InlinedCalls.Call], at index: Int, in lines: Range<Int>, _ programs: inout [UInt64: LineProgram?]
  ) {
    for call in calls.reversed() {
      places[index].inlined.append(
        Inlined(function: call.function, file: places[index].file, line: places[index].line))
      let program = programs[call.lines] ?? program(at: call.lines, in: lines)
      programs[call.lines] = program
      (places[index].file, places[index].line) =
        call.line > 0 ? (program?.name(of: call.file, file), call.line) : (nil, nil)
    }
  }

  private mutating func program(at offset: UInt64, in lines: Range<Int>) -> LineProgram? {
    guard stepsLeft > 0, offset < UInt64(lines.count) else { return nil }
    let start = lines.lowerBound + Int(offset)
    guard let end = programEnd(start, lines.upperBound), let program = LineProgram(file, start, end, sections) else {
      return nil
    }
    stepsLeft -= program.nameCount
    return program
  }

  private mutating func findFunctions() {
    guard let symbols = sections[".symtab"], let names = sections[".strtab"] else { return }
    for at in stride(from: symbols.lowerBound, to: symbols.upperBound - 23, by: 24) {
      guard let name = file.integer(at, 4), let info = file.integer(at + 4, 1), let start = file.integer(at + 8, 8),
        let size = file.integer(at + 16, 8)
      else { return }
      // STT_FUNC
      guard info & 0xf == 2 else { continue }
      for (index, address) in addresses.enumerated() where address >= start && address - start < size {
        places[index].function = file.text(names.lowerBound + Int(name))
      }
    }
  }

  private func programEnd(_ at: Int, _ end: Int) -> Int? {
    guard let length = file.integer(at, 4), length < 0xffff_fff0, length > 8, Int(length) <= end - at - 4 else {
      return nil
    }
    return at + 4 + Int(length)
  }

  /// Rows of the table that the program makes: each holds up to the next one's address.
  private mutating func run(_ program: LineProgram) {
    var machine = LineMachine(program)
    var last: (address: UInt64, file: UInt64, line: UInt64)?
    while stepsLeft > 0, let row = machine.next(file, &stepsLeft) {
      if let last {
        for (index, address) in addresses.enumerated()
        where address >= last.address && address < row.address && places[index].line == nil && last.line > 0 {
          (places[index].file, places[index].line) = (program.name(of: last.file, file), last.line)
        }
      }
      last = row.endsSequence ? nil : (row.address, row.file, row.line)
    }
  }
}

/// The head of one unit's line program (DWARF 5, 6.2.4; earlier versions alike).
private struct LineProgram {
  let code: Range<Int>
  let shortest: UInt64
  let lineBase: Int64
  let lineRange: UInt64
  let lengths: [UInt64]
  /// Where the names of files begin; the first has the number 1 before version 5, and 0 from then on.
  private let names: [Int?]
  private let firstName: UInt64

  private static let maxNames = 65_536

  var nameCount: Int { names.count }

  init?(_ file: LibraryBytes, _ start: Int, _ end: Int, _ sections: [String: Range<Int>]) {
    guard let version = file.integer(start + 4, 2), (2...5).contains(version) else { return nil }
    var at = start + 6 + (version == 5 ? 2 : 0)
    guard let length = file.integer(at, 4), Int(length) <= end - at - 4 else { return nil }
    code = at + 4 + Int(length)..<end
    at += 4
    guard let shortest = file.integer(at, 1) else { return nil }
    at += version >= 4 ? 3 : 2
    guard let base = file.integer(at, 1), let range = file.integer(at + 1, 1), range > 0,
      let opcodes = file.integer(at + 2, 1), opcodes > 0
    else { return nil }
    at += 3
    var lengths: [UInt64] = [0]
    for _ in 1..<max(opcodes, 1) {
      guard let length = file.integer(at, 1) else { return nil }
      lengths.append(length)
      at += 1
    }
    self.shortest = shortest
    lineBase = Int64(Int8(truncatingIfNeeded: base))
    lineRange = range
    self.lengths = lengths
    firstName = version == 5 ? 0 : 1
    let limit = code.lowerBound
    var names: [Int?] = []
    if version == 5 {
      guard Self.entries(file, &at, limit, sections) != nil, let found = Self.entries(file, &at, limit, sections) else {
        return nil
      }
      names = found
    } else {
      // Folders, then files, each list with an empty text at its end.
      while let text = Self.text(file, &at, limit), text.count > 0 {}
      while names.count < Self.maxNames, let text = Self.text(file, &at, limit), text.count > 0 {
        names.append(text.start)
        guard file.number(&at, limit) != nil, file.number(&at, limit) != nil, file.number(&at, limit) != nil else {
          return nil
        }
      }
    }
    self.names = names
  }

  private static func text(_ file: LibraryBytes, _ at: inout Int, _ end: Int) -> (start: Int, count: Int)? {
    guard at < end, let zero = file.bytes[at..<end].firstIndex(of: 0) else { return nil }
    defer { at = zero + 1 }
    return (at, zero - at)
  }

  /// The paths of a list of folders or files of version 5.
  private static func entries(
    _ file: LibraryBytes, _ at: inout Int, _ end: Int, _ sections: [String: Range<Int>]
  ) -> [Int?]? {
    guard let count = file.integer(at, 1) else { return nil }
    at += 1
    var formats: [(content: UInt64, form: UInt64)] = []
    for _ in 0..<count {
      guard let content = file.number(&at, end), let form = file.number(&at, end) else { return nil }
      formats.append((content, form))
    }
    guard let wanted = file.number(&at, end), wanted <= UInt64(maxNames) else { return nil }
    // Without formats no entry takes any room, and there might be any number.
    guard !formats.isEmpty || wanted == 0 else { return nil }
    var names: [Int?] = []
    for _ in 0..<wanted {
      var name: Int?
      for (content, form) in formats {
        let start: Int?
        switch form {
        case 0x08:
          guard let text = text(file, &at, end) else { return nil }
          start = text.start
        case 0x0e, 0x1f:
          guard at <= end - 4, let offset = file.integer(at, 4) else { return nil }
          at += 4
          let section = sections[form == 0x0e ? ".debug_str" : ".debug_line_str"]
          start = section.flatMap { offset < UInt64($0.count) ? $0.lowerBound + Int(offset) : nil }
        case 0x0b: (start, at) = (nil, at + 1)
        case 0x05: (start, at) = (nil, at + 2)
        case 0x06: (start, at) = (nil, at + 4)
        case 0x1e: (start, at) = (nil, at + 16)
        case 0x0f:
          guard file.number(&at, end) != nil else { return nil }
          start = nil
        default: return nil
        }
        guard at <= end else { return nil }
        // DW_LNCT_path
        if content == 1 { name = start }
      }
      names.append(name)
    }
    return names
  }

  /// Its last component.
  func name(of number: UInt64, _ file: LibraryBytes) -> String? {
    guard number >= firstName, number - firstName < UInt64(names.count), let at = names[Int(number - firstName)],
      let path = file.text(at)
    else { return nil }
    return path.pathNames.last
  }
}

/// Carries out a line program (DWARF 5, 6.2.5).
private struct LineMachine {
  struct Row {
    var address: UInt64 = 0
    var file: UInt64 = 1
    var line: UInt64 = 1
    var endsSequence = false
  }

  private let program: LineProgram
  private var at: Int
  private var row = Row()

  init(_ program: LineProgram) {
    self.program = program
    at = program.code.lowerBound
  }

  /// The next row; nil at the end, and where the program makes no sense.
  mutating func next(_ file: LibraryBytes, _ stepsLeft: inout Int) -> Row? {
    let end = program.code.upperBound
    while at < end, stepsLeft > 0, let code = file.integer(at, 1) {
      stepsLeft -= 1
      at += 1
      if code >= UInt64(program.lengths.count) {
        let special = code - UInt64(program.lengths.count)
        advance(special / program.lineRange)
        addLine(program.lineBase + Int64(special % program.lineRange))
        return row
      }
      switch code {
      case 0:
        guard let length = file.number(&at, end), length > 0, length <= UInt64(end - at),
          let extended = file.integer(at, 1)
        else { return nil }
        let next = at + Int(length)
        defer { at = next }
        switch extended {
        case 1:
          var last = row
          last.endsSequence = true
          row = Row()
          return last
        case 2 where length == 9: row.address = file.integer(at + 1, 8) ?? 0
        default: break
        }
      case 1: return row
      case 2:
        guard let count = file.number(&at, end) else { return nil }
        advance(count)
      case 3:
        guard let lines = file.signedNumber(&at, end) else { return nil }
        addLine(lines)
      case 4:
        guard let number = file.number(&at, end) else { return nil }
        row.file = number
      case 8: advance((255 - UInt64(program.lengths.count)) / program.lineRange)
      case 9:
        guard let count = file.integer(at, 2) else { return nil }
        at += 2
        row.address &+= count
      default:
        // Columns, flags, and what isn't known: as many numbers as the head says.
        for _ in 0..<program.lengths[Int(code)] where file.number(&at, end) == nil { return nil }
      }
    }
    return nil
  }

  private mutating func advance(_ count: UInt64) { row.address &+= count &* program.shortest }

  private mutating func addLine(_ lines: Int64) { row.line = row.line &+ UInt64(bitPattern: lines) }
}
