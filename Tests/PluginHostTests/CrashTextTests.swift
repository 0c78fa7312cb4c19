import Glibc
import HostProtocol
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct CrashTextTests {
  @Test("a library's name is told whole, and without what a terminal obeys", arguments: CrashStackRuleTests.names)
  func names(name: String, shown: String) {
    let site = RunnerMessage.CrashSite(
      signal: SIGFPE, address: 0, instruction: 0x1010, stackPointer: 0, library: "/bundle/\(name)", symbol: "f",
      offset: 16)
    #expect(CrashText.describe(site) == "SIGFPE in f +0x10 of \(shown)")
    #expect(CrashText.fault(Self.site(0x5000_2004, in: "/bundle/\(name)"))?.place == "in \(shown)+0x2004")
  }

  private static func site(
    _ address: UInt64, _ access: RunnerMessage.CrashSite.Access = .read, code: Int32 = 1, signal: Int32 = SIGSEGV,
    in library: String = ""
  ) -> RunnerMessage.CrashSite {
    RunnerMessage.CrashSite(
      signal: signal, address: address, instruction: 0x1010, stackPointer: 0x7fff_0000_0000, library: "/x/a.so",
      symbol: "f", offset: 16, code: code, access: access, faultLibrary: library, faultOffset: 0x2004)
  }

  @Test(
    "a fault says what was to be done at which address, and what that is near",
    arguments: [
      (site(0), "it read address 0x0, near null"), (site(0x64, .write), "it wrote to address 0x64, near null"),
      (site(0, .execute), "it ran code at address 0x0, near null"),
      (site(0x7fff_1234_0000, .unknown), "it used address 0x7fff12340000, where nothing is mapped"),
      (site(0x5000_0000, .write, code: 2), "it wrote to address 0x50000000, where memory is mapped, and not for that"),
      (
        site(0x5000_2004, .write, code: 2, in: "/x/a.so"),
        "it wrote to address 0x50002004, in a.so+0x2004, which isn't for that"
      ),
      (site(0x7ffe_ffff_fff8, .write), "it wrote to address 0x7ffefffffff8, at the end of its stack"),
      (site(0x7fff_0000_0010, .execute, code: 2), "it ran code at address 0x7fff00000010, on its stack"),
      (
        site(0x6000_0000, code: 2, signal: SIGBUS),
        "it read address 0x60000000, beyond the end of a file that is mapped there, or in a part that there is no room for"
      ),
      (site(0x6000_0001, code: 1, signal: SIGBUS), "it read address 0x60000001"),
    ])
  func faults(site: RunnerMessage.CrashSite, text: String) { #expect(CrashText.fault(site)?.text == text) }

  @Test(
    "a signal that a process sent, or that has no address, has no fault",
    arguments: [
      site(0x64, code: 0), site(0x64, code: -6), site(0, code: 0x80), site(0x64, signal: SIGABRT),
      site(0x1010, signal: SIGFPE), site(0, code: 1, signal: SIGBUS),
    ])
  func noFault(site: RunnerMessage.CrashSite) { #expect(CrashText.fault(site) == nil) }

  @Test("code that was to be run on the stack is no stack overflow")
  func overflow() {
    #expect(CrashText.describe(Self.site(0x7ffe_ffff_fff8, .write)).contains("(stack overflow)"))
    #expect(!CrashText.describe(Self.site(0x7fff_0000_0010, .execute, code: 2)).contains("(stack overflow)"))
    #expect(!CrashText.describe(Self.site(0, .read)).contains("(stack overflow)"))
  }

  @Test("what a plugin calls its library can't move a terminal's cursor")
  func hostile() throws {
    let text = try #require(CrashText.fault(Self.site(0x5000_2004, in: "/x/\u{1b}[2J.so"))?.text)
    #expect(text.contains("\\u{1b}[2J.so") && !text.contains("\u{1b}"))
  }
}
