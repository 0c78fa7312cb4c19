internal import ArgumentParser
internal import Basics
internal import Glibc
internal import LinuxSystem
internal import PluginHost
internal import Sandbox

/// What `run` and `call` take for those who work on a plugin.
struct DevelopmentOptions: ParsableArguments {
  @Flag(
    help: ArgumentHelp(
      "Wait for a debugger before anything of the plugin is loaded, and print the command that attaches one. --wall and --cpu are unlimited unless given."
    ))
  var debug = false
  @Flag(
    help: ArgumentHelp(
      "Without any wall, with all your rights, for sanitizers and profilers; never for code that you don't trust. --memory is unlimited unless given."
    ))
  var noSandbox = false

  /// The policy of `sandbox` as a run for development has it. Warns where nothing is contained.
  func policy(_ sandbox: SandboxOptions, _ library: String, isTraced: Bool) throws -> Policy {
    var policy = try sandbox.makePolicy()
    if debug {
      if sandbox.wall == nil { policy.limits.wallTime = Limits.longestTime }
      if sandbox.cpu == nil { policy.limits.cpu = Limits.longestTime }
      policy.limits.cpuTotal = max(policy.limits.cpuTotal, policy.limits.cpu)
    }
    guard noSandbox else { return policy }
    if sandbox.observe || isTraced {
      throw Failure(
        64, "--no-sandbox has no wall that could see system calls; leave \(isTraced ? "--trace" : "--observe") out")
    }
    if sandbox.memory == nil { policy.limits.memory = Limits.maxBytes }
    Output.note(
      "warning: --no-sandbox: \(library) runs with all the rights of \(geteuid() == 0 ? "root" : "this user"); nothing is contained"
    )
    return policy
  }

  func prepare(_ options: inout PluginHost.LoadOptions, _ library: String) {
    options.withoutSandbox = noSandbox
    guard debug else { return }
    // As it will be found from another terminal's folder.
    let directory = noSandbox ? nil : (try? Files.real(library)).map(Self.directory)
    options.onReadyForDebugger = { process in
      for line in DebuggerCommand(process: process, library: library, directory: directory).lines { Output.note(line) }
    }
  }

  /// What `policy record` has no use for.
  var option: String? { debug ? "--debug" : noSandbox ? "--no-sandbox" : nil }

  /// Of the library itself; an `.appex` folder is one.
  private static func directory(of path: String) -> String {
    Files.isFolder(path) == true ? path : path.parentFolder ?? path
  }
}
