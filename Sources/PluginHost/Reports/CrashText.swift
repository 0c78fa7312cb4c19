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

  private static let nearNull: UInt64 = 64 << 10
  private static let aroundStack: UInt64 = 64 << 10

  /// The memory that it couldn't use; nil where the signal has no address.
  static func fault(_ site: RunnerMessage.CrashSite) -> RunReport.Fault? {
    // A process that sends it names none, nor does the kernel for an address that no process can have (SI_KERNEL).
    guard [SIGSEGV, SIGBUS].contains(site.signal), site.code > 0, site.code != 0x80 else { return nil }
    let access: RunReport.Fault.Access? =
      switch site.access {
      case .unknown: nil
      case .read: .read
      case .write: .write
      case .execute: .execute
      }
    return RunReport.Fault(address: site.address, access: access, place: place(of: site))
  }

  private static func place(of site: RunnerMessage.CrashSite) -> String {
    // SEGV_ACCERR: something is mapped there.
    let isForbidden = site.signal == SIGSEGV && site.code == 2
    if !site.faultLibrary.isEmpty {
      let library = Printable.text(site.faultLibrary.pathNames.last ?? site.faultLibrary, limit: 80)
      let place = "in \(library)+0x\(String(site.faultOffset, radix: 16))"
      return isForbidden ? "\(place), which isn't for that" : place
    }
    if site.address < nearNull { return "near null" }
    if isStackOverflow(site) { return "at the end of its stack" }
    if distanceToStack(site) < aroundStack { return "on its stack" }
    if site.signal == SIGBUS { return site.code == 2 ? "beyond the end of a file that is mapped there" : "" }
    return isForbidden ? "where memory is mapped, and not for that" : "where nothing is mapped"
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

  /// The faulting address lies within some pages of the stack pointer, and isn't code.
  private static func isStackOverflow(_ site: RunnerMessage.CrashSite) -> Bool {
    site.address != 0 && site.access != .execute && distanceToStack(site) < aroundStack
  }

  private static func distanceToStack(_ site: RunnerMessage.CrashSite) -> UInt64 {
    site.address > site.stackPointer ? site.address - site.stackPointer : site.stackPointer - site.address
  }
}

extension RunReport.Fault {
  /// "it wrote to address 0x64, near null".
  package var text: String {
    let verb =
      switch access {
      case nil: "used"
      case .read: "read"
      case .write: "wrote to"
      case .execute: "ran code at"
      }
    return "it \(verb) address 0x\(String(address, radix: 16))" + (place.isEmpty ? "" : ", \(place)")
  }
}
