/// A filter as a decision diagram: the same answers as the program that it was read from, in fewer instructions. The kernel compiles a
/// filter while its runner waits, and that takes as long as the filter is.
///
/// What libseccomp exports asks for each number of a call by itself, and for the half of an argument that no rule is about. Here numbers
/// with the same answer are one range, a question whose answer is known isn't asked, and equal parts are one.
struct FilterDiagram {
  /// A word of `seccomp_data` under a mask.
  private struct Value: Hashable {
    static let number = Value(offset: 0, mask: .max)

    var offset: UInt32
    var mask: UInt32
  }

  private enum Test: Hashable {
    case equal(UInt32)
    case atLeast(UInt32)
    case anyBit(UInt32)

    func holds(for word: UInt32) -> Bool {
      switch self {
      case .equal(let operand): word == operand
      case .atLeast(let operand): word >= operand
      case .anyBit(let operand): word & operand != 0
      }
    }

    /// What a word under this mask always says; nil where that depends on the word.
    func answer(under mask: UInt32) -> Bool? {
      switch self {
      case .equal(let operand): operand & ~mask != 0 ? false : mask == 0 ? true : nil
      case .atLeast(let operand): operand == 0 ? true : operand > mask ? false : nil
      case .anyBit(let operand): operand & mask == 0 ? false : nil
      }
    }

    /// Where among all words its answer changes.
    var bounds: [UInt32] {
      switch self {
      case .equal(let operand): operand == .max ? [operand] : [operand, operand + 1]
      case .atLeast(let operand): [operand]
      case .anyBit: []
      }
    }
  }

  private enum Node: Hashable {
    case end(UInt32)
    case question(Value, Test, yes: Int, no: Int)

    /// Whether it belongs to the search for the call's number.
    var isSearch: Bool {
      switch self {
      case .question(.number, .equal, _, _), .question(.number, .atLeast, _, _): true
      default: false
      }
    }

    var next: [Int] {
      switch self {
      case .end: []
      case .question(_, _, let yes, let no): [yes, no]
      }
    }
  }

  /// What a node leads to comes before it.
  private var nodes: [Node] = []
  private var indices: [Node: Int] = [:]
  private var root = 0

  /// nil for what isn't a whole program of these instructions.
  init?(_ program: [FilterInstruction]) {
    var read = FilterDiagram()
    guard let start = read.read(program) else { return nil }
    root = add(start, of: read, for: 0 ... .max)
  }

  private init() {}

  private mutating func add(_ node: Node) -> Int {
    if case .question(_, _, let yes, let no) = node, yes == no { return yes }
    if let index = indices[node] { return index }
    nodes.append(node)
    indices[node] = nodes.count - 1
    return nodes.count - 1
  }

  // MARK: Reading

  private struct Step {
    var target: Int
    var value: Value?
  }

  /// The node that the program begins with.
  private mutating func read(_ program: [FilterInstruction]) -> Int? {
    // What the accumulator may hold before each instruction, nil for nothing, and the node for that. Jumps lead forward only.
    var found = [[(value: Value?, node: Int)]](repeating: [], count: program.count)
    guard !program.isEmpty else { return nil }
    found[0] = [(nil, 0)]
    for (index, instruction) in program.enumerated() {
      for (value, _) in found[index] {
        guard let steps = Self.steps(of: instruction, at: index, value) else { return nil }
        for step in steps {
          guard program.indices.contains(step.target) else { return nil }
          guard !found[step.target].contains(where: { $0.value == step.value }) else { continue }
          found[step.target].append((step.value, 0))
        }
      }
    }
    for (index, instruction) in program.enumerated().reversed() {
      for (place, known) in found[index].enumerated() {
        let next = (Self.steps(of: instruction, at: index, known.value) ?? []).compactMap { step in
          found[step.target].first { $0.value == step.value }?.node
        }
        found[index][place].node = node(of: instruction, known.value, next)
      }
    }
    return found[0][0].node
  }

  /// `next`: where it leads, as `steps` says.
  private mutating func node(of instruction: FilterInstruction, _ value: Value?, _ next: [Int]) -> Int {
    guard let first = next.first else { return add(.end(instruction.operand)) }
    guard next.count == 2, let value else { return first }
    let test = Self.test(of: instruction)
    guard let answer = test.answer(under: value.mask) else {
      return add(.question(value, test, yes: first, no: next[1]))
    }
    return answer ? first : next[1]
  }

  /// Where an instruction leads, first where its test holds; nil where it needs a value and there is none.
  private static func steps(of instruction: FilterInstruction, at index: Int, _ value: Value?) -> [Step]? {
    let next = index + 1
    switch instruction.code {
    case .end: return []
    case .jump: return [Step(target: next + Int(instruction.operand), value: value)]
    case .load: return [Step(target: next, value: Value(offset: instruction.operand, mask: .max))]
    case .and:
      guard let value else { return nil }
      return [Step(target: next, value: Value(offset: value.offset, mask: value.mask & instruction.operand))]
    case .jumpIfEqual, .jumpIfGreater, .jumpIfAtLeast, .jumpIfAnyBit:
      guard value != nil else { return nil }
      return [
        Step(target: next + Int(instruction.whenTrue), value: value),
        Step(target: next + Int(instruction.whenFalse), value: value),
      ]
    }
  }

  private static func test(of instruction: FilterInstruction) -> Test {
    switch instruction.code {
    case .jumpIfAtLeast: .atLeast(instruction.operand)
    // Nothing is greater than the greatest, and no bit is one of none.
    case .jumpIfGreater: instruction.operand == .max ? .anyBit(0) : .atLeast(instruction.operand + 1)
    case .jumpIfAnyBit: .anyBit(instruction.operand)
    default: .equal(instruction.operand)
    }
  }

  // MARK: Making it smaller

  /// Adds what a node of another diagram decides about calls with these numbers. Without recursion but for searches: a policy decides
  /// how many questions follow each other.
  private mutating func add(_ start: Int, of source: FilterDiagram, for numbers: ClosedRange<UInt32>) -> Int {
    var made = [Int](repeating: 0, count: start + 1)
    for index in source.reachable(from: start, within: { !$0.isSearch }) {
      let node = source.nodes[index]
      switch node {
      case _ where node.isSearch: made[index] = search(index, of: source, for: numbers)
      case .end: made[index] = add(node)
      case .question(let value, let test, let yes, let no):
        made[index] = add(.question(value, test, yes: made[yes], no: made[no]))
      }
    }
    return made[start]
  }

  /// Node indices, what a node leads to before it. Goes on from nodes that fulfil the condition only.
  private func reachable(from start: Int, within condition: (Node) -> Bool) -> [Int] {
    var isReached = [Bool](repeating: false, count: start + 1)
    isReached[start] = true
    for index in (0...start).reversed() where isReached[index] && condition(nodes[index]) {
      for next in nodes[index].next { isReached[next] = true }
    }
    return (0...start).filter { isReached[$0] }
  }

  private mutating func search(_ start: Int, of source: FilterDiagram, for numbers: ClosedRange<UInt32>) -> Int {
    var starts: Set<UInt32> = [numbers.lowerBound]
    for index in source.reachable(from: start, within: \.isSearch) {
      guard case .question(.number, let test, _, _) = source.nodes[index] else { continue }
      starts.formUnion(test.bounds.filter(numbers.contains))
    }
    var ranges: [(start: UInt32, node: Int)] = []
    var end = numbers.upperBound
    for first in starts.sorted(by: >) {
      let found = add(source.result(of: first, from: start), of: source, for: first...end)
      if let last = ranges.last, last.node == found { ranges.removeLast() }
      ranges.append((first, found))
      if first > 0 { end = first - 1 }
    }
    return tree(ranges.reversed()[...])
  }

  /// The node that a search for a number ends at.
  private func result(of number: UInt32, from start: Int) -> Int {
    var index = start
    while nodes[index].isSearch, case .question(_, let test, let yes, let no) = nodes[index] {
      index = test.holds(for: number) ? yes : no
    }
    return index
  }

  /// Finds the range of a number.
  private mutating func tree(_ ranges: ArraySlice<(start: UInt32, node: Int)>) -> Int {
    let first = ranges.startIndex
    guard ranges.count > 1 else { return ranges[first].node }
    // Up to three single numbers among others.
    let singles = ranges.indices.dropLast().filter { ranges[$0 + 1].start == ranges[$0].start + 1 && $0 > first }
    let others = Set(ranges.indices.filter { !singles.contains($0) }.map { ranges[$0].node })
    if singles.count <= 3, others.count == 1, let other = others.first {
      return singles.reduce(other) { no, single in
        add(.question(.number, .equal(ranges[single].start), yes: ranges[single].node, no: no))
      }
    }
    let middle = first + ranges.count / 2
    let (low, high) = (tree(ranges[..<middle]), tree(ranges[middle...]))
    return add(.question(.number, .atLeast(ranges[middle].start), yes: high, no: low))
  }

  // MARK: Writing

  var program: [FilterInstruction] {
    let written = reachable(from: root) { _ in true }
    // Whether all that leads to a node leaves the same value, for it to ask about.
    var before: [Int: Value] = [:]
    var needsLoad: Set<Int> = [root]
    for index in written {
      guard case .question(let value, _, let yes, let no) = nodes[index] else { continue }
      for next in [yes, no] where before.updateValue(value, forKey: next).map({ $0 != value }) ?? false {
        needsLoad.insert(next)
      }
    }
    // From the end to the beginning, as jumps lead forward.
    var writer = Writer()
    for index in written {
      switch nodes[index] {
      case .end(let action): writer.add(.init(.end, action))
      case .question(let value, let test, let yes, let no):
        for next in [yes, no] { writer.bringNear(next, nodes[next]) }
        let (whenTrue, whenFalse) = (writer.distance(to: yes), writer.distance(to: no))
        switch test {
        case .equal(let word): writer.add(.init(.jumpIfEqual, word, whenTrue: whenTrue, whenFalse: whenFalse))
        case .atLeast(let word): writer.add(.init(.jumpIfAtLeast, word, whenTrue: whenTrue, whenFalse: whenFalse))
        case .anyBit(let bits): writer.add(.init(.jumpIfAnyBit, bits, whenTrue: whenTrue, whenFalse: whenFalse))
        }
        if needsLoad.contains(index) || before[index] != value {
          if value.mask != .max { writer.add(.init(.and, value.mask)) }
          writer.add(.init(.load, value.offset))
        }
      }
      writer.place(index)
    }
    return writer.reversed.reversed()
  }

  /// Instructions, the last one first.
  private struct Writer {
    private(set) var reversed: [FilterInstruction] = []
    /// How many instructions there are from the beginning of a node to the end.
    private var places: [Int: Int] = [:]

    mutating func add(_ instruction: FilterInstruction) { reversed.append(instruction) }

    mutating func place(_ node: Int) { places[node] = reversed.count }

    /// Jumps that depend on something leave out 255 instructions at most, and another one may still be added here.
    mutating func bringNear(_ index: Int, _ node: Node) {
      let distance = reversed.count - places[index, default: 0]
      guard distance >= 255 else { return }
      if case .end(let action) = node { add(.init(.end, action)) } else { add(.init(.jump, UInt32(distance))) }
      place(index)
    }

    func distance(to node: Int) -> UInt8 { UInt8(reversed.count - places[node, default: 0]) }
  }
}
