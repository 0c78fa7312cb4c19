internal import Basics

/// The command by which a debugger attaches to a runner, and stops before the first constructor of what is loaded.
struct DebuggerCommand {
  /// The runner, as this host sees it.
  let process: Int32
  let library: String
  /// Where libraries lie on the machine that the runner sees elsewhere.
  let directory: String?

  var lines: [String] {
    [
      "waiting for a debugger; it stops before the first constructor of \(library). In another terminal:",
      "  \(gdb)",
      "or:",
      "  \(lldb)",
    ]
  }

  private var name: String { library.pathNames.last ?? library }

  var gdb: String {
    let paths =
      ["-iex", "set sysroot /"] + (directory.map { ["-iex", "set solib-search-path \($0)"] } ?? [])
    let commands = [
      // The host stops its plugins between calls.
      "handle SIGSTOP SIGCONT SIGURG nostop noprint pass",
      "set breakpoint pending on", "catch load \(Self.escaped(name))", "continue",
    ]
    return (["gdb"] + paths + ["-p", "\(process)"] + commands.flatMap { ["-ex", $0] }).map(ShellWord.quoted)
      .joined(separator: " ")
  }

  var lldb: String {
    let commands = [
      "process handle SIGSTOP SIGCONT SIGURG --stop false --notify false --pass true",
      "settings set target.process.stop-on-sharedlibrary-events true", "continue",
    ]
    return (["lldb", "-p", "\(process)"] + commands.flatMap { ["-o", $0] }).map(ShellWord.quoted).joined(separator: " ")
  }

  /// `catch load` takes a basic regular expression (regex(7)), in which a backslash gives other characters a meaning, "+" among them.
  private static func escaped(_ name: String) -> String {
    String(
      name.flatMap { character -> [Character] in ".[]*^$\\".contains(character) ? ["\\", character] : [character] })
  }
}
