import HostProtocol
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct CrashStackRuleTests {
  private static func frame(_ index: UInt32, _ library: String = "/bundle/a.so", _ symbol: String = "f")
    -> RunnerMessage.StackFrame
  {
    .init(index: index, library: library, symbol: symbol, symbolOffset: 1, address: 0x1000)
  }

  @Test("frames are taken in order, and no more than 32") func bounded() {
    var stack = CrashStack()
    stack.note(Self.frame(1))
    #expect(stack.frames.isEmpty)
    for index in 0..<100 as Range<UInt32> {
      stack.note(Self.frame(index))
      stack.note(Self.frame(index))
      stack.note(Self.frame(.max))
    }
    #expect(stack.frames.count == CrashStack.maxFrames)
  }

  @Test("names are made printable and short") func printable() {
    var stack = CrashStack()
    stack.note(
      Self.frame(0, "/a/\u{1b}[31m" + String(repeating: "x", count: 5000), String(repeating: "\u{7}", count: 9000)))
    let frame = stack.frames[0]
    #expect(!frame.library.contains("\u{1b}") && frame.library.count < 400)
    #expect(!frame.symbol.contains("\u{7}") && frame.symbol.count < 1000)
  }

  /// Names of files, and how they are shown.
  static let names = [
    ("pläck.so", "pläck.so"), ("日本.so", "日本.so"), ("t\tab.so", "t\\u{9}ab.so"),
    (String(repeating: "l", count: 252) + ".so", String(repeating: "l", count: 252) + ".so"),
    ("\u{202e}os.so", "\\u{202e}os.so"),
  ]

  @Test("a library's name is whole, and as it is where that isn't what is shown", arguments: names)
  func libraries(name: String, shown: String) {
    var stack = CrashStack()
    stack.note(Self.frame(0, "/bundle/\(name)"))
    #expect(stack.frames[0].library == shown && stack.frames[0].file == (name == shown ? nil : name))
  }

  @Test("by which frames the host called it isn't told") func ofPlugin() {
    var stack = CrashStack()
    let names = ["libffi.so.8", "a.so", "libffi.so.8", "libffi.so.8.1.2"]
    for (index, name) in names.enumerated() { stack.note(Self.frame(UInt32(index), name)) }
    #expect(stack.ofPlugin.map(\.library) == ["libffi.so.8", "a.so"])
  }

  @Test("what is told before the crash tells of nothing") func order() {
    var machine = RunMachine(loader: 1, frameBytes: 1 << 20)
    machine.note(Self.frame(0))
    #expect(machine.stack.frames.isEmpty)
    machine.note(
      lastWord: .crashed(
        .init(signal: 11, address: 0, instruction: 0, stackPointer: 0, library: "", symbol: "", offset: 0)))
    machine.note(Self.frame(0))
    #expect(machine.stack.frames.count == 1)
  }
}
