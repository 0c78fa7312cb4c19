internal import AssetModel
internal import Sandbox

/// What a run's plugin said and asked for, which its report has in the end and its readers as it happens. Loop thread only.
struct RunRecord {
  let events: EventFeed
  var log: LogRecorder
  var scheduled = ScheduledDownloads()
  var statuses: [RunReport.Status] = []

  init(_ limits: Limits) {
    events = EventFeed()
    log = LogRecorder(limit: limits.logBytes, feed: events)
  }

  /// Tells a new reader what has happened already, and goes on unless nothing more does.
  func subscribe(_ reader: EventReader, denials: [RunReport.Denial], isOver: Bool) {
    for line in log.lines { reader.offer { .logged(line) } }
    for denial in denials { reader.offer { .denied(denial) } }
    if isOver { reader.end() } else { events.add(reader) }
  }

  func add(to report: inout RunReport) {
    (report.log, report.droppedLogBytes, report.droppedLogLines) = (log.lines, log.droppedBytes, log.droppedLines)
    (report.scheduled, report.statuses) = (scheduled.downloads, statuses)
  }
}
