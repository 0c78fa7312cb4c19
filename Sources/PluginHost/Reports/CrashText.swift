internal import AssetModel
internal import Basics
internal import Glibc
internal import HostProtocol

/// A crash in one sentence. What the runner wrote of it is the plugin's word as much as its handler's.
enum CrashText {
  static func signal(_ number: Int32) -> String {
    let names: [Int32: String] = [
      SIGSEGV: "SIGSEGV", SIGBUS: "SIGBUS", SIGILL: "SIGILL", SIGFPE: "SIGFPE", SIGTRAP: "SIGTRAP", SIGABRT: "SIGABRT",
      SIGSYS: "SIGSYS", SIGKILL: "SIGKILL", SIGXFSZ: "SIGXFSZ", SIGXCPU: "SIGXCPU",
    ]
    return names[number] ?? "signal \(number)"
  }

  static func describe(_ site: RunnerMessage.CrashSite) -> String {
    var text = signal(site.signal)
    if site.signal == SIGSEGV, isStackOverflow(site) { text += " (stack overflow)" }
    guard !site.library.isEmpty else { return text }
    let library = site.library.pathNames.last ?? site.library
    let place = site.symbol.isEmpty ? "" : "\(Printable.text(site.symbol, limit: 120)) "
    return "\(text) in \(place)+0x\(String(site.offset, radix: 16)) of \(Printable.text(library, limit: 80))"
  }

  /// What can't be read: the plugin's mistake, though the runner's code, or the C library's, would have been the one to fault.
  static func describe(_ pointer: RunnerMessage.WildPointer, call: String) -> String {
    let address = "0x\(String(pointer.address, radix: 16))"
    return switch pointer.source {
    case .result: "\(Printable.text(call)) returned \(address) as a cstring, and there is no text that can be read"
    case .table: "the extension's table, or what it points to, lies at \(address), which can't be read"
    case .argument: "it gave a function of the host the address \(address), which can't be read"
    }
  }

  /// The faulting address lies within some pages of the stack pointer.
  private static func isStackOverflow(_ site: RunnerMessage.CrashSite) -> Bool {
    let distance =
      site.address > site.stackPointer ? site.address - site.stackPointer : site.stackPointer - site.address
    return distance < 64 << 10 && site.address != 0
  }
}
