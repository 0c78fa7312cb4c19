internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem
public import Logging
public import Sandbox

/// Loads third-party libraries, each in a sandboxed process of its own, and calls their functions under a watchdog.
///
/// A host owns a fork server for plugins that need Foundation and one for all others, each started with the first of its kind, and
/// one thread for all of its watchdogs. Any task may use it. When the last reference goes, every runner goes with it.
public final class PluginHost: Sendable {
  /// How one host runs plugins.
  public struct Configuration: Sendable {
    /// The `outrider-runner` executable; found beside this program, or by `OUTRIDER_RUNNER`, when nil.
    public var runner: String?
    /// A fresh process for every load, with Foundation only for a plugin that needs it.
    public var isCold = false
    /// Where the host logs to.
    public var logger = Logger(label: "outrider.host")
    /// Namespaces to stay out of, so that a test can show what each of them alone stops, or a machine without them.
    package var withoutNamespaces: Set<Wall> = []
    /// Walls that the canary is to find open, so that a test can show what follows.
    package var canaryWithout: Set<Wall> = []

    /// Creates the configuration of an ordinary host.
    public init() {}
  }

  /// Descriptors that a new host and its first plugin take, beside those that are open already.
  package static let descriptorsToStart = DescriptorBudget.toStart

  let core: HostCore

  /// Throws where the runner can't be found or the kernel lacks something that there is no way around.
  ///
  /// - Parameter configuration: How it runs plugins.
  /// - Throws: `HostError.failed` where the runner can't be found or the kernel lacks something.
  public init(configuration: Configuration = Configuration()) throws(HostError) {
    core = try HostCore(configuration)
  }

  deinit { core.shutDown() }

  /// Kills every runner and the fork server, removes what they used, and returns when they are gone. For an interrupt
  /// from the keyboard; runs in flight end as `hostFailed`.
  public func stop() { core.shutDown() }

  /// Makes the next load quick: the limits are proved, and a runner stands ready, unless that takes longer than a second.
  /// A host does so by itself when its plugins are idle; a program that has just started and isn't in a hurry may ask for it.
  ///
  /// - Parameter library: What will be loaded, as `load` has it. A plugin that needs Foundation begins in another process than one
  ///   that doesn't. nil: one of the same kind as the last, and without Foundation where none was loaded.
  /// - Throws: `HostError.failed` where no runner can be made, and `HostError.input` where the library can't be read.
  public func prepare(for library: String? = nil) async throws(HostError) {
    let preload =
      if let library {
        Preload(for: try await core.read(library, searching: true, limit: Policy().limits.wallTime).image)
      } else {
        await core.lastPreload()
      }
    _ = try await core.proof(preload)
    try await core.prepare(preload)
  }

  /// What a load needs besides the policy.
  public struct LoadOptions: Sendable {
    /// The directory that the plugin may write, which stands for every app group; an empty one that is removed afterwards
    /// when nil.
    public var container: String?
    /// In its place one directory for each app group of which the extension is a member: for other groups it gets none. The
    /// first is its home as well. At most 32.
    public var containers: [Container] = []
    /// Answers what the extension asks while it runs; nil: the host does, by `adopt` and `finish`.
    public var services: (any ExtensionServices)?
    /// A regular file that the plugin reads as its manifest.
    public var manifest: String?
    /// Whether the library must publish a table of entry points.
    public var isExtension = false
    /// Whether what an extension in Swift logs shows strings and objects that it didn't mark `.public`, which its log hides
    /// otherwise as on Apple's platforms.
    public var showsPrivate = false
    /// Without a single wall, with all the rights of this user, for sanitizers and profilers: nothing of the plugin is
    /// contained. The report's walls say so, and a policy that requires one fails. The watchdog holds all the same; memory is
    /// sampled.
    public var withoutSandbox = false
    /// Called with the runner's process once its walls are closed, and nothing of the plugin is loaded yet. The load then
    /// waits, without a clock, until a debugger has attached to that process and lets it go on. On the host's thread.
    public var onReadyForDebugger: (@Sendable (Int32) -> Void)?
    /// Walls to leave open, so that a test can show what each of them alone stops: seccomp, landlock, rlimits, cgroup,
    /// environment, descriptors.
    package var withoutWalls: Set<Wall> = []
    /// Who wants to see the system calls of the run, as the host answers them. Records paths, too.
    package var trace: SystemCallTrace?
    /// Whether the run is the host's own, which its metrics leave out.
    package var isProof = false
    /// Whether calls go through memory that host and runner share; a test and a benchmark look at what is without.
    package var sharesMemory = true

    /// The directory of an app group.
    public struct Container: Sendable, Equatable {
      /// The identifier of the group; "" stands for every one, and is then the only one.
      public var group: String
      /// The folder on this machine; the plugin may write to it.
      public var path: String

      /// Creates the container of a group.
      public init(group: String, path: String) {
        self.group = group
        self.path = path
      }
    }

    /// Creates the options of a library that is no extension.
    public init() {}
  }

  /// Starts a runner and loads a library into it: any `.so` by path, a system library by its name (`libz.so.1`), or an
  /// `.appex` folder. Throws `HostError.ended` with the report of a plugin that doesn't load. That the host reads the files is
  /// a part of the load's wall time.
  ///
  /// - Parameters:
  ///   - library: A path, a system library's name, or an `.appex` folder.
  ///   - policy: What the plugin may do.
  ///   - options: What it gets.
  /// - Returns: The plugin, loaded: its constructors have run.
  /// - Throws: `HostError`; `.ended` with the report of a run that didn't come so far.
  public func load(
    _ library: String, policy: Policy = Policy(), options: LoadOptions = LoadOptions()
  ) async throws(HostError) -> Plugin {
    if let rejectionReason = policy.limits.rejectionReason { throw .usage(rejectionReason) }
    let (image, spent) = try await core.read(
      library, searching: !options.isExtension, limit: policy.limits.wallTime)
    return try await core.load(
      image, policy: policy, options: options, isBare: options.withoutSandbox,
      proof: options.withoutSandbox ? [] : try await core.proof(Preload(for: image)), reading: spent)
  }

  /// Throws `HostError.usage` for a call that no plugin could be asked to make, without loading one.
  ///
  /// - Parameters:
  ///   - symbol: The function's name.
  ///   - signature: `RETURN(ARGUMENTS)`, for example `i32(i32)`.
  ///   - arguments: One for each that isn't `out(N)` or `out T`.
  ///   - policy: Its `frameBytes` bounds what a call holds.
  /// - Throws: `HostError.usage` with what is wrong.
  public static func check(
    _ symbol: String, _ signature: String, arguments: [CallArgument], policy: Policy = Policy()
  ) throws(HostError) {
    let function = try CallBounds.function(symbol, signature, arguments, KnownFunctions())
    try CallBounds.check(
      HostMessage.call(function.call.message).frame(id: 0), function.known.signature,
      frameBytes: policy.limits.frameBytes)
  }

  /// Seconds of one whole wake of the same plugin without a single wall: what a benchmark compares with.
  package func bareWake(_ library: String, manifest: String) async throws(HostError) -> Double {
    let start = BootClock.now
    var options = LoadOptions()
    options.isExtension = true
    options.manifest = manifest
    let plugin = try await core.load(
      try PluginImage(opening: library), policy: Policy(), options: options, isBare: true)
    _ = try await plugin.contentRequest(.install)
    _ = await plugin.end()
    return (BootClock.now - start).inSeconds
  }

  /// Every wall and meter of this machine, as a run with `policy` would have them.
  ///
  /// - Parameter policy: What a run would have to be.
  /// - Returns: The state of every wall.
  /// - Throws: `HostError.failed` where no runner can be made.
  public func walls(policy: Policy = Policy()) async throws(HostError) -> [Wall: WallState] {
    try await core.walls(policy, proof: try await core.proof(core.lastPreload()))
  }

  /// What a fork server for plugins that need Foundation loads before its first fork. nil where it wasn't found.
  package var preloadedLibrary: String? { core.preload }

  /// Whether a runner stands ready.
  package func isPrepared() async -> Bool { await core.spareIsReady() }

  func cgroupCount() async -> Int { await core.cgroupCount() }

  /// The process of the fork server that was used last, for those who watch it; nil before the first load.
  ///
  /// - Returns: The process's identifier; nil where there is none.
  public func forkServerProcess() async -> Int32? { await core.serverProcess() }

  /// Looks for a file that a process which was killed had moved into a container, and puts it back to `path`. False: the
  /// extension has taken it, or it was never moved. To be asked before another plugin gets the container.
  ///
  /// Throws `HostError.failed` where a host that is at work is just handing it over, or it can't be put back.
  ///
  /// - Parameters:
  ///   - inode: The file's, as `stat(2)` had it before it was handed over.
  ///   - container: The folder that the extension may write to.
  ///   - path: Where the file was.
  /// - Returns: Whether it is there again.
  /// - Throws: `HostError.failed`; the file is where it was found.
  public static func takeBack(inode: UInt64, from container: String, to path: String) throws(HostError) -> Bool {
    try MovedFile.takeBack(inode: inode, from: container, to: path)
  }
}
