internal import HostProtocol

/// What a lane, its callers and its run hand to each other.
extension CallLane {
  /// What became of a caller's attempt.
  enum Attempt {
    case finished(Result<RunnerMessage.CallResult, HostError>)
    /// It is under way and not answered yet: to be waited for with `meet`, after the run was told to take it over.
    case begun
    /// Nothing was asked: it is to be made through the run, which says `arrived`.
    case queued
  }

  /// A call that was made in the lane. One object, since it is handed on several times within a call of few microseconds.
  final class Direct: Sendable {
    let call: FunctionCall
    let ticket: UInt64
    let limit: Duration?
    let id: UInt64
    let since: Duration

    init(_ call: FunctionCall, _ ticket: UInt64, limit: Duration?, id: UInt64, since: Duration) {
      (self.call, self.ticket, self.limit, self.id, self.since) = (call, ticket, limit, id, since)
    }

    /// As the run keeps it.
    var pluginCall: PluginCall {
      PluginCall(call: call.message, signature: call.function.signature, ticket: ticket, limit: limit)
    }
  }

  /// What the lane leaves to the run as it is closed.
  struct Legacy {
    /// Whether a caller has let the frozen runner go on.
    var isThawed: Bool
    /// The id of the last call that was made in it.
    var last: UInt64
    /// One that is under way.
    var direct: Direct?
    var passed: Passed?
  }

  /// Calls that began and ended in the lane since it was looked at.
  struct Passed: Equatable {
    var wall = Duration.zero
    var until = Duration.zero
  }

  enum Look: Equatable {
    case unused
    case passed(Passed)
    /// A call has been under way for so long that it is the run's to watch.
    case overdue
  }

  enum Occupation { case free, queued, unknown }

  /// The run's, for as long as its lane isn't closed.
  struct RunnerHandles {
    var control: Int32 = -1
    var service: Int32 = -1
    /// As pidfd_open(2).
    var process: Int32 = -1
    /// As `RunChannels.pid` and `RunChannels.group`.
    var pid: Int32 = 0
    var group: Int32 = 0
    var lease: LeaseTimer?
    var leaseTime = Duration.zero
  }
}
