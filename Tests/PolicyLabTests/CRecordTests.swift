import HostProtocol
import Testing

@testable import PolicyLab

/// Structures by value, as their users describe them.
@Suite(.timeLimit(.minutes(1))) struct CRecordTests {
  private static let int = CType.base("int", size: 4, encoding: 5)
  private static let char = CType.base("char", size: 1, encoding: 6)
  private static let double = CType.base("double", size: 8, encoding: 4)

  private static func record(
    _ size: UInt64, _ fields: [(UInt64?, CType)], isUnion: Bool = false, isBitField: Bool = false
  ) -> CRecord {
    CRecord(
      name: "struct s", isUnion: isUnion, size: size,
      fields: fields.map { .init(name: "f", offset: $0.0, isBitField: isBitField, type: $0.1) })
  }

  @Test("a structure lies as its fields say, or has a reason why no signature has it") func layouts() {
    let pair = Self.record(8, [(0, Self.int), (32, Self.int)])
    let table: [(CRecord, String)] = [
      (pair, "{i32,i32}"),
      (Self.record(16, [(0, Self.char), (64, Self.double)]), "{i8,f64}"),
      (Self.record(16, [(0, .named("p", .record("struct s", pair))), (64, .pointer(.void))]), "{{i32,i32},pointer}"),
      (Self.record(4, [(0, .constant(.array(Self.char, count: 4)))]), "{[4]i8}"),
      (
        Self.record(9, [(0, Self.char), (8, Self.double)]),
        "struct s is passed by value and is packed or aligned in its own way"
      ),
      (Self.record(16, [(0, Self.int)]), "struct s is passed by value and is packed or aligned in its own way"),
      (
        Self.record(8, [(0, Self.int), (nil, Self.int)]),
        "struct s is passed by value and is packed or aligned in its own way"
      ),
      (Self.record(4, [(0, Self.int)], isUnion: true), "struct s is passed by value, and no signature has a union"),
      (Self.record(4, [(0, Self.int)], isBitField: true), "struct s is passed by value and has bit fields"),
      (Self.record(0, []), "struct s is passed by value, and nothing says what is in it"),
      (Self.record(8, [(0, .record("struct t"))]), "struct t is passed by value"),
      (Self.record(8, [(0, .array(Self.int, count: 0))]), "an array of int is passed by value"),
      (Self.record(8, [(0, .array(Self.int, count: .max))]), "an array of int is passed by value"),
      (Self.record(8, [(0, .array(Self.double, count: 4096))]), "an array of double is passed by value"),
      (
        Self.record(8192, [(0, .array(Self.char, count: 4096)), (32768, Self.int)]),
        "struct s is passed by value and has more than 4096 bytes"
      ),
      (
        Self.record(16, [(0, .base("long double", size: 16, encoding: 4))]),
        "long double is no number that a call can pass"
      ),
    ]
    for (record, expected) in table {
      var text: String
      do throws(CType.Unfit) { text = try record.layout().description } catch { text = error.reason }
      #expect(text == expected)
    }
  }

  /// Sixteen levels, each with two of the next: more than a million fields if all were written out.
  @Test("structures that hold many of others, or themselves, are bounded") func hostile() throws {
    var records: [CRecord] = []
    for level in 0..<16 {
      var record = Self.record(8, [(0, .record("struct \(level + 1)")), (32, .record("struct \(level + 1)"))])
      record.name = "struct \(level)"
      records.append(record)
    }
    var itself = Self.record(8, [(0, .record("struct itself"))])
    itself.name = "struct itself"
    var description = HeaderDescription()
    description.records = records + [itself]
    for name in ["0", "itself"] {
      let type = CFunction(result: .record("struct \(name)"), parameters: [], isVariadic: false)
      description.functions[name] = .init(name: name, symbol: name, type: type, hasPrototype: true)
    }
    description.resolveRecords()
    for function in description.functions.values {
      #expect(throws: CType.Unfit.self) { try function.type.signature() }
    }
  }

  @Test("a structure's name ends no comment in a file of Swift", arguments: ["\r", "\u{2028}", "\u{b}", "`", "*/"])
  func names(separator: String) throws {
    var record = Self.record(4, [(0, Self.int)])
    record.name = "struct s\(separator)evil()"
    record.fields[0].name = "a\(separator)evil()"
    let type = CType.named("plain", .record(record.name, record))
    let function = CFunction(result: type, parameters: [.init(name: "", type: type)], isVariadic: false)
    var description = HeaderDescription()
    description.functions["f"] = .init(name: "f", symbol: "f", type: function, hasPrototype: true)
    let binding = try SwiftBinding(
      module: "Api", headers: [], library: "l.so", exported: ["f"], description: description)
    #expect(binding.bound == ["f"] && binding.text.contains("public struct plain"))
    for line in binding.text.split(whereSeparator: \.isNewline) where line.contains("evil") {
      #expect(line.drop { $0 == " " }.hasPrefix("///"), "\(line)")
    }
  }

  @Test("a signature that would be too long to be read isn't offered") func long() throws {
    let fields = (0..<400).map { (UInt64($0) * 32, Self.int) as (UInt64?, CType) }
    let type = CType.record("struct s", Self.record(1600, fields))
    let function = CFunction(result: type, parameters: [.init(name: "", type: type)], isVariadic: false)
    #expect(throws: CType.Unfit.self) { try function.signature() }
  }
}
