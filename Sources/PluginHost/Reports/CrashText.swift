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

  /// A library's file name, which is found by it: whole, since no filesystem has a longer one (NAME_MAX), and printable.
  static func library(_ name: String) -> String { Printable.text(name, limit: Int(NAME_MAX)) }

  static func describe(_ site: RunnerMessage.CrashSite) -> String {
    var text = signal(isAbort(site) ? SIGABRT : site.signal)
    if let cause = cause(of: site) { text += " (\(cause))" }
    guard !site.library.isEmpty else { return text }
    let library = site.library.pathNames.last ?? site.library
    let place = site.symbol.isEmpty ? "" : "\(Printable.text(site.symbol, limit: 120)) "
    return "\(text) in \(place)+0x\(String(site.offset, radix: 16)) of \(Self.library(library))"
  }

  /// glibc's abort ends in a privileged instruction where its signal ends nothing, as in the first process of a namespace.
  private static func isAbort(_ site: RunnerMessage.CrashSite) -> Bool {
    site.signal == SIGSEGV && site.code == fromKernel && site.symbol == "abort"
      && site.library.pathNames.last == CLibrary.fileName
  }

  private static func cause(of site: RunnerMessage.CrashSite) -> String? {
    switch site.signal {
    case SIGSEGV where isStackOverflow(site): "stack overflow"
    case SIGSEGV where site.code == fromKernel && !isAbort(site):
      "an address that no process can have, or an instruction that it may not use"
    case SIGBUS where isUnaligned(site):
      "an unaligned access, which faults because the plugin has set EFLAGS.AC"
    // FPE_INTDIV
    case SIGFPE where site.code == 1: "a division by zero, or of the lowest number by -1"
    default: nil
    }
  }

  /// SI_KERNEL: the processor told no address.
  private static let fromKernel: Int32 = 0x80
  /// BUS_ADRALN without an address, as x86-64 has it for its alignment check.
  static func isUnaligned(_ site: RunnerMessage.CrashSite) -> Bool {
    site.signal == SIGBUS && site.code == 1 && site.address == 0
  }

  private static let nearNull: UInt64 = 64 << 10
  private static let aroundStack: UInt64 = 64 << 10
  private static let largestFrame: UInt64 = 64 << 20

  /// The memory that it couldn't use; nil where the signal has no address.
  static func fault(_ site: RunnerMessage.CrashSite) -> RunReport.Fault? {
    // A process that sends it names none, nor does the kernel for an address that no process can have (SI_KERNEL).
    guard [SIGSEGV, SIGBUS].contains(site.signal), site.code > 0, site.code != fromKernel,
      !isUnaligned(site)
    else { return nil }
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
      let library = Self.library(site.faultLibrary.pathNames.last ?? site.faultLibrary)
      let place = "in \(library)+0x\(String(site.faultOffset, radix: 16))"
      return isForbidden ? "\(place), which isn't for that" : place
    }
    if site.address < nearNull { return "near null" }
    if isStackOverflow(site) { return "at the end of its stack" }
    if distanceToStack(site) < aroundStack { return "on its stack" }
    // BUS_ADRERR is both: a page that the file hasn't, and one for which a full file system or limit has no room.
    if site.signal == SIGBUS {
      return site.code == 2
        ? "beyond the end of a file that is mapped there, or in a part that there is no room for" : ""
    }
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

  /// The faulting address lies within some pages of the stack pointer, or nothing is mapped in the frame at hand; and it isn't code.
  private static func isStackOverflow(_ site: RunnerMessage.CrashSite) -> Bool {
    guard site.address >= nearNull, site.access != .execute else { return false }
    // SEGV_MAPERR
    let isInFrame = site.code == 1 && site.address > site.stackPointer && distanceToStack(site) < largestFrame
    return distanceToStack(site) < aroundStack || isInFrame
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
