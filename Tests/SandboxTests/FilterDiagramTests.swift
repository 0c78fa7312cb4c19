import Basics
import TestSupport
import Testing

@testable import Sandbox

@Suite(.timeLimit(.minutes(2))) struct FilterDiagramTests {
  private static func instructions(_ bytes: [UInt8]) -> [FilterInstruction] {
    stride(from: 0, to: bytes.count, by: 8).compactMap { FilterInstruction(bytes[$0..<$0 + 8]) }
  }

  private static func compacted(_ program: [FilterInstruction]) throws -> FilterMachine {
    let diagram = try #require(FilterDiagram(program))
    return FilterMachine(diagram.program.flatMap(\.bytes))
  }

  /// Words that the program compares with, and words that are near them.
  private static func word(near operands: [UInt32], _ random: inout SeededGenerator) -> UInt32 {
    let operand = operands[random.below(operands.count)]
    switch random.below(8) {
    case 0: return operand &+ 1
    case 1: return operand &- 1
    case 2: return operand ^ 1 << UInt32(random.below(32))
    case 3: return UInt32(truncatingIfNeeded: random.next())
    case 4: return 0
    default: return operand
    }
  }

  private static func call(
    _ number: UInt32, near operands: [UInt32], _ random: inout SeededGenerator
  ) -> FilterMachine.Call {
    var call = FilterMachine.Call(number: number)
    if random.chance(20) { call.architecture = word(near: operands, &random) }
    call.arguments = (0..<6).map { _ in
      UInt64(random.chance(2) ? 0 : word(near: operands, &random)) << 32 | UInt64(word(near: operands, &random))
    }
    return call
  }

  private static func options(_ random: inout SeededGenerator) -> SeccompProgram.Options {
    var options = SeccompProgramTests.everyOption[random.below(SeccompProgramTests.everyOption.count)]
    options.hasListener = !random.chance(4)
    options.connects = random.chance(2)
    options.makesProcesses = random.chance(2)
    options.startsPrograms = random.chance(2)
    func some(_ count: Int) -> Set<String> {
      Set((0..<random.below(count)).map { _ in SystemCalls.allowed[random.below(SystemCalls.allowed.count)] })
    }
    (options.killing, options.refused, options.traced) = (some(3), some(20), some(10))
    if random.chance(3) { options.killing.insert("socket") }
    options.rules = Set((0..<random.below(12)).compactMap { _ in RandomCallRules.rule(&random) })
    return options
  }

  @Test(
    "a filter's diagram answers every call as libseccomp's own program does, and the default one's is two thirds as long",
    arguments: [RandomCallRules.seed])
  func sameAnswers(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let unusual: [UInt32] = [0x3fff_ffff, 0x4000_0000, 0x4000_0001, 0x7fff_ffff, 0x8000_0000, .max - 1, .max]
    for round in 0..<10 {
      let program = try SeccompProgram(round == 0 ? .init() : Self.options(&random))
      let operands = Self.instructions(program.bytes).map(\.operand)
      let (plain, compact) = (
        FilterMachine(program.bytes), try Self.compacted(Self.instructions(program.bytes))
      )
      // Calls that are refused here and there leave no ranges.
      #expect(program.compacted.bytes.count <= program.bytes.count)
      if round == 0 { #expect(compact.count * 3 < plain.count * 2) }
      for number in Array(0...UInt32(600)) + unusual {
        for _ in 0..<5 {
          let call = Self.call(number, near: operands, &random)
          let (wanted, got) = (plain.run(call), compact.run(call))
          #expect(wanted == got, "\(call)")
          if wanted != got { return }
        }
      }
    }
  }

  /// Of a length that has jumps beyond 255 in some.
  private static func program(_ random: inout SeededGenerator) -> [FilterInstruction] {
    let count = 2 + random.below(random.chance(4) ? 900 : 30)
    let words = (0..<4).map { _ in UInt32(random.below(40)) } + [0, 1, .max, 0x8000_0000]
    return (0..<count).map { index in
      let left = count - index - 2
      let word = words[random.below(words.count)]
      if index == 0 { return FilterInstruction(.load, 0) }
      if left < 0 || random.chance(12) {
        return FilterInstruction(.end, [0x7fff_0000, 0x7fc0_0000, 0x5_0001][random.below(3)])
      }
      let (one, other) = (UInt8(random.below(min(left + 1, 256))), UInt8(random.below(min(left + 1, 256))))
      switch random.below(9) {
      case 0: return FilterInstruction(.load, UInt32(random.below(16)) * 4)
      case 1: return FilterInstruction(.load, 0)
      case 2: return FilterInstruction(.and, word)
      case 3: return FilterInstruction(.jump, UInt32(random.below(left + 1)))
      case 4: return FilterInstruction(.jumpIfGreater, word, whenTrue: one, whenFalse: other)
      case 5: return FilterInstruction(.jumpIfAtLeast, word, whenTrue: one, whenFalse: other)
      case 6: return FilterInstruction(.jumpIfAnyBit, word, whenTrue: one, whenFalse: other)
      default: return FilterInstruction(.jumpIfEqual, word, whenTrue: one, whenFalse: other)
      }
    }
  }

  @Test("a diagram of any program answers as the program does", arguments: [RandomCallRules.seed])
  func anyProgram(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<1500 {
      let program = Self.program(&random)
      let (plain, compact) = (FilterMachine(program.flatMap(\.bytes)), try Self.compacted(program))
      let operands = program.map(\.operand)
      for _ in 0..<60 {
        let call = Self.call(Self.word(near: operands, &random), near: operands, &random)
        let (wanted, got) = (plain.run(call), compact.run(call))
        #expect(wanted == got, "\(call) of \(program)")
        if wanted != got { return }
      }
    }
  }

  @Test("a filter of as many questions as there may be, one after the other, is read and written")
  func longest() throws {

    for offset in [0, 16] as [UInt32] {
      var program = [FilterInstruction(.load, offset)]
      for index in 0..<2046 {
        program += [
          FilterInstruction(.jumpIfEqual, UInt32(index) * 2, whenFalse: 1),
          FilterInstruction(.end, index % 2 == 0 ? 0x5_0001 : 0x5_0002),
        ]
      }
      program.append(FilterInstruction(.end, 0x7fff_0000))
      let (plain, compact) = (FilterMachine(program.flatMap(\.bytes)), try Self.compacted(program))
      for word in 0...UInt32(4100) {
        let call = FilterMachine.Call(number: word, arguments: [UInt64(word)])
        #expect(plain.run(call) == compact.run(call))
      }
    }
  }

  @Test(
    "what isn't a program is no diagram",
    arguments: [
      [], [FilterInstruction(.load, 0)], [.init(.jump, 1), .init(.end, 0)], [.init(.jump, .max), .init(.end, 0)],
      [.init(.jumpIfEqual, 0), .init(.end, 0)], [.init(.and, 1), .init(.end, 0)],
      [.init(.load, 0), .init(.jumpIfEqual, 0, whenTrue: 1), .init(.end, 0)],
    ] as [[FilterInstruction]])
  func rejected(_ program: [FilterInstruction]) {
    #expect(FilterDiagram(program) == nil)
  }

  @Test(
    "an instruction of another kind, and half of one, is none", arguments: [[0x16, 0, 0, 0, 0, 0, 0, 0], [6, 0, 0]])
  func otherInstruction(_ bytes: [UInt8]) {
    #expect(FilterInstruction(bytes) == nil)
  }
}
