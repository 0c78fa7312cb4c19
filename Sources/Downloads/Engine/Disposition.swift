internal import AssetModel

/// What becomes of a job once the journal has its record. As long as the journal can't be written this is kept with the
/// record, and carried out when it can.
enum Disposition: Equatable, Sendable {
  /// When a hold ends by itself.
  enum End: Equatable, Sendable {
    /// At a moment of boot time.
    case at(Duration)
    /// So long after the journal has it.
    case after(Duration)
    /// Only when somebody says so.
    case never
  }

  /// Back to the queue. `isTold`: if it can't begin, somebody is told why.
  case queued(isTold: Bool)
  /// Back to the queue, where a login page keeps it.
  case queuedBehindPortal
  case held(Hold.Reason, End)
  case outOfSpace(SpaceShortage)
  case paused
  /// Its class changed. `hold`: what it goes on waiting for, if it does.
  case reclassified(isUrgent: Bool, hold: Hold.Reason?, until: Duration?)
  case cancelled
  case failed(TransferFailure)
  /// What is at its place is all that there is, of so many bytes.
  case unchanged(size: Int64)
  /// The engine closes, and the next one takes the job up.
  case left
}

extension EngineCore {
  /// Carries out what was to follow; the journal has `record`.
  func enter(_ disposition: Disposition, _ record: JobRecord) {
    let now = clock.boot
    switch disposition {
    case .queued(let isTold):
      let entry = entry(of: record)
      scheduler.enqueue(entry, now: now)
      if isTold { tellIfBlocked(record.id, entry.transferClass, entry.origin) }
    case .queuedBehindPortal:
      scheduler.enqueue(entry(of: record), now: now)
      tellWhyHeld(record.id)
    case .held(let reason, let end):
      let until: Duration? =
        switch end {
        case .at(let moment): moment
        case .after(let delay): now + delay
        case .never: nil
        }
      hold(entry(of: record), reason, until: until)
    case .outOfSpace(let shortage): holdForSpace(entry(of: record), shortage)
    case .paused:
      hold(entry(of: record), .paused("user"), until: nil)
      events.send(.paused(record.id))
    case .reclassified(let isUrgent, let reason, let until):
      let entry = entry(of: record)
      if isUrgent { origins[entry.origin].breaker.hurry(now: now) }
      if record.state == .paused {
        hold(entry, .paused("user"), until: nil)
      } else if let reason, !isUrgent {
        hold(entry, reason, until: until)
      } else {
        scheduler.enqueue(entry, now: now)
      }
    case .cancelled: events.send(.cancelled(record.id))
    case .failed(let failure): events.send(.failed(record.id, failure))
    case .unchanged(let size):
      let specification = record.specification
      let path = "\(specification.directory)/\(specification.fileName)"
      events.send(.finished(record.id, DownloadedFile(path: path, size: size, isUnchanged: true)))
    case .left: break
    }
  }
}
