internal import Basics
internal import HostProtocol
internal import PluginHost

/// Structures and arrays as people write them: `{1,2.5,[1,2],hex:0a0b}`.
struct LayoutWords {
  private let text: [Character]
  private var position = 0

  private init(_ text: String) { self.text = text.filter { $0 != " " } }

  /// nil: it doesn't fit.
  static func argument(_ word: String, _ layout: CallLayout) -> CallArgument? {
    var words = LayoutWords(word)
    guard let value = words.value(layout), words.position == words.text.count else { return nil }
    return value
  }

  private mutating func value(_ layout: CallLayout) -> CallArgument? {
    switch layout {
    case .scalar(let scalar): return CallWords.number(word(), scalar.kind)
    case .array(.scalar(.u8), let count) where next != "[":
      let word = word()
      guard word.hasPrefix("hex:"), let bytes = Hexadecimal.bytes(word.dropFirst(4)), bytes.count <= count else {
        return nil
      }
      return .bytes(bytes)
    case .array(let element, let count): return list(count: count, "[", "]") { _ in element }
    case .structure(let fields): return list(count: fields.count, "{", "}") { fields[$0] }
    }
  }

  private mutating func list(
    count: Int, _ open: Character, _ close: Character, _ layout: (Int) -> CallLayout
  ) -> CallArgument? {
    guard take(open) else { return nil }
    var values: [CallArgument] = []
    for index in 0..<count {
      guard index == 0 || take(","), let value = value(layout(index)) else { return nil }
      values.append(value)
    }
    return take(close) ? .list(values) : CallWords.none
  }

  private var next: Character? { position < text.count ? text[position] : nil }

  private mutating func take(_ character: Character) -> Bool {
    guard next == character else { return false }
    position += 1
    return true
  }

  private mutating func word() -> String {
    let word = text[position...].prefix { !"{}[],".contains($0) }
    position += word.count
    return String(word)
  }

  /// How a value of that layout is written, with `number` for each of its numbers.
  static func text(of layout: CallLayout, _ number: (CallSignature.Kind) -> String) -> String {
    switch layout {
    case .scalar(let scalar): number(scalar.kind)
    case .array(let element, let count):
      "[\((0..<count).map { _ in text(of: element, number) }.joined(separator: ","))]"
    case .structure(let fields): "{\(fields.map { text(of: $0, number) }.joined(separator: ","))}"
    }
  }
}
