internal import AssetModel
internal import ServiceMachines

/// What an extension schedules again and again begins at its pace, and not at the extension's.
extension ServiceCore {
  /// Tells the pace of what the registry does. Returns whether that waits.
  mutating func isHeldBack(_ effect: DownloadRegistry.Effect, of app: String, _ now: Instant) -> Bool {
    switch effect {
    case .add(let download, _, .extension, _):
      // What was answered is asked for once: it doesn't come back by itself.
      guard apps[app]?.registry.entries[download.uniqueIdentifier]?.generation == nil else { return false }
      pace(app, .scheduled(uniqueIdentifier: download.uniqueIdentifier, identifier: download.identifier), now)
      return true
    case .setUrgency(let unique, .foreground): pace(app, .hurried(uniqueIdentifier: unique), now)
    case .remove(let unique): pace(app, .withdrawn(uniqueIdentifier: unique), now)
    case .settled(let unique, let identifier, .failed):
      pace(app, .failed(uniqueIdentifier: unique, identifier: identifier), now)
    case .settled(let unique, let identifier, .finished):
      pace(app, .finished(uniqueIdentifier: unique, identifier: identifier), now)
    default: break
    }
    return false
  }

  mutating func pace(_ app: String, _ event: RetryPace.Event, _ now: Instant) {
    var effects: [RetryPace.Effect] = []
    change(app) { effects = $0.pace.handle(event, now: now) }
    for case .start(let unique) in effects {
      guard let registry = apps[app]?.registry, let entry = registry.entries[unique], entry.state != .failed,
        !entry.isCancelling
      else { continue }
      route(
        .registry(
          .add(entry.download, urgency: entry.urgency, owner: entry.owner, isPaused: registry.isPaused(entry))),
        of: app)
    }
  }
}
