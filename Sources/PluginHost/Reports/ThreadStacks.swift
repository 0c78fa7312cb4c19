internal import AssetModel
internal import HostProtocol

/// Where a plugin's threads are when its time is over: each is asked, tells its stack, and goes no further. The plugin's word
/// as much as its handlers': bounded, and in order.
struct ThreadStacks: Equatable {
  static let maxThreads = 32

  private var stacks: [UInt32: CrashStack] = [:]
  private var names: [UInt32: String] = [:]
  /// How many were asked; nil: none yet.
  private var asked: Int?
  /// How many the plugin had then.
  private var all = 0

  /// Whether all that were asked have told.
  var isComplete: Bool { asked.map { names.count >= $0 } ?? false }

  mutating func ask(_ count: Int, of all: Int) {
    asked = min(count, Self.maxThreads)
    self.all = all
  }

  /// How many of them didn't tell: they block the signal, were too many, or had no processor in time.
  var untold: Int { asked == nil ? 0 : max(all - names.count, 0) }

  /// What a thread says that wasn't asked, or that has told all, or that is one too many, is left out.
  mutating func note(_ frame: RunnerMessage.StackFrame, of thread: UInt32) {
    guard asked != nil, names[thread] == nil, stacks[thread] != nil || stacks.count < Self.maxThreads else { return }
    stacks[thread, default: CrashStack()].note(frame)
  }

  mutating func noteTold(_ thread: UInt32, name: String) {
    guard asked != nil, names[thread] == nil, names.count < Self.maxThreads else { return }
    names[thread] = Printable.text(name, limit: 60)
  }

  /// Those that are in a library, in the order of their numbers.
  var ofPlugin: [RunReport.ThreadStack] {
    stacks.sorted { $0.key < $1.key }.compactMap { number, stack in
      let frames = stack.ofPlugin
      return frames.isEmpty ? nil : .init(number: number, name: names[number] ?? "", frames: frames)
    }
  }
}
