package import Sandbox

/// A trace of the system calls of one run, as the host answers them: what the filter hands over, and the calls
/// that it hands over for this.
package struct SystemCallTrace: Sendable {
  /// What a call led to.
  package enum Verdict: Sendable, Equatable {
    /// The kernel decides, by mounts, Landlock and what the call says.
    case passed
    /// Passed on and counted.
    case granted
    /// Passed on; the mount namespace or Landlock (`files`), or the run's own network, will refuse what it names.
    case refused(wall: String)
    case denied(wall: String, error: String)
    case ended(wall: String)
  }

  /// What of a policy lets a call through that not every plugin may make.
  package enum Grant: Sendable, Equatable {
    /// A path of `files`, patterns looked up.
    case path(String)
    case device(PolicyDevice)
    /// A host with its port.
    case connection(NetworkEndpoint)
    /// Sockets and pairs of them, whatever is connected to.
    case network
    case processes
    /// Code of a file that is mapped or started after loading.
    case laterCode
    /// Memory of its own as code.
    case writtenCode
  }

  /// One call that the host answered.
  package struct Event: Sendable {
    /// Since the walls were closed.
    package var time: Duration
    /// Of the plugin's threads, as the host's kernel counts them.
    package var thread: UInt32
    package var name: String
    /// As a line has them, with what a terminal obeys: a path is the plugin's choice. It stands in quotes, in which a backslash
    /// comes before each quote and backslash of its own, and is cut at 200 characters.
    package var arguments: [String]
    /// The paths that the call names, as they are and whole, in the order of its arguments.
    package var paths: [String]
    package var verdict: Verdict
    /// What the report has of it; nil: it wasn't denied.
    package var denial: RunReport.Denial?
    /// nil: what every plugin may do, or what isn't done.
    package var grant: Grant?
    /// Whether the arguments' texts lay in memory that other threads could change before the kernel read them, too.
    package var mayHaveChanged: Bool
  }

  /// Calls that the filter hands over though it would let them through.
  package let calls: Set<String>
  /// On the thread that answers system calls: it waits for nothing.
  package let receive: @Sendable (Event) -> Void

  /// `calls`: those without which a runner can't even hand over the filter aren't handed over themselves.
  package init(calls: Set<String> = [], receive: @escaping @Sendable (Event) -> Void) {
    self.calls = calls.filter { SystemCalls.isFree($0) && !SystemCalls.indispensable.contains($0) }
    self.receive = receive
  }
}

extension Policy {
  /// What of it lets a call through, whatever the call names; nil: every plugin may make it.
  func grant(of call: String, _ arguments: [UInt64], isLoading: Bool) -> SystemCallTrace.Grant? {
    let isCode = CallFlags.isCode(arguments[2])
    switch call {
    case "socket" where hasNetwork: return .network
    case "fork", "vfork": return .processes
    case "clone" where SystemCalls.startsProcess(arguments[0]): return .processes
    case "execve": return .laterCode
    case "mmap" where isCode && arguments[3] & CallFlags.anonymous != 0: return .writtenCode
    case "mmap" where isCode && !isLoading: return .laterCode
    case "mprotect" where isCode && (!isLoading || CallFlags.isWritable(arguments[2])): return .writtenCode
    default: return nil
    }
  }
}
