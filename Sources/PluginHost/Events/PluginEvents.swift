internal import LinuxSystem

/// What a run's report will tell of a plugin, as it happens.
public enum PluginEvent: Sendable, Equatable {
  /// A line of its log, or of what it printed. Live lines are also those for which the report has no room (`logBytes`); of one
  /// that is printed then, the first 4 KiB.
  case logged(RunReport.LogLine)
  /// Something that it didn't get. `count` is 1, but for what was denied before the reader came.
  case denied(RunReport.Denial)
  /// So many more events came while the reader's buffer was full: at this place they are missing.
  case missed(Int)
}

/// The events of one plugin, from the beginning of its load to the end of its run. Any number of readers may iterate over it at
/// the same time; each gets all of them.
///
/// A reader begins with what the report has so far: first the log, then the denials. Its buffer has room for 1,024 events and
/// 256 KiB of text. What finds it full is dropped for this reader alone, and counted (`PluginEvent.missed`): no reader holds up the
/// plugin or its watchdog. The sequence ends with the run, after its last event.
public struct PluginEvents: AsyncSequence, Sendable {
  /// An event.
  public typealias Element = PluginEvent
  /// Reading never fails.
  public typealias Failure = Never

  /// One reader.
  public struct Iterator: AsyncIteratorProtocol {
    let reader: EventReader

    /// The next event; nil after the end of the run, and where the task is cancelled.
    ///
    /// - Returns: The event.
    public mutating func next() async -> PluginEvent? { await reader.next() }
  }

  let core: HostCore
  let run: UInt64

  /// Begins to listen.
  ///
  /// - Returns: A reader with a buffer of its own.
  public func makeAsyncIterator() -> Iterator {
    let reader = EventReader()
    core.loop.submit { [core, run] in reader.subscribe(to: run, of: core) }
    return Iterator(reader: reader)
  }
}

extension EventReader {
  /// On the loop.
  func subscribe(to run: UInt64, of core: HostCore) {
    if let found = core.runs[run] {
      return found.record.subscribe(
        self, denials: found.supervisor.denials.denials, isOver: found.machine.phase.report != nil)
    }
    if let report = core.endedReport(of: run) {
      for line in report.log { offer { .logged(line) } }
      for denial in report.denials { offer { .denied(denial) } }
    }
    end()
  }
}
