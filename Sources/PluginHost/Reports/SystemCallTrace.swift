internal import Sandbox

/// A trace of the system calls of one run, as the host answers them: what the filter hands over, and the calls
/// that it hands over for this.
package struct SystemCallTrace: Sendable {
  /// What a call led to.
  package enum Verdict: Sendable, Equatable {
    /// The kernel decides, by mounts, Landlock and what the call says.
    case passed
    /// Passed on and counted.
    case granted
    /// Passed on; the mount namespace or Landlock will refuse what it names.
    case refused
    case denied(wall: String, error: String)
    case ended(wall: String)
  }

  /// One call that the host answered.
  package struct Event: Sendable {
    /// Since the walls were closed.
    package var time: Duration
    /// Of the plugin's threads, as the host's kernel counts them.
    package var thread: UInt32
    package var name: String
    /// Made printable.
    package var arguments: [String]
    package var verdict: Verdict
    /// What the report has of it; nil: it wasn't denied.
    package var denial: RunReport.Denial?
    /// The path of the policy that lets it have what it names, patterns looked up; nil: what every plugin has, or no file.
    package var grant: String?
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
