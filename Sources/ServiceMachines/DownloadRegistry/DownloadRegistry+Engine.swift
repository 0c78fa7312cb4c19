internal import AssetModel

// What the lifecycle plans, and what the engine says became of it.
extension DownloadRegistry {
  mutating func add(
    _ download: PlannedDownload, _ urgency: Urgency, _ owner: Owner, generation: Int?,
    with change: (inout Entry) -> Void = { _ in }
  ) -> [Effect] {
    failed.remove(download.uniqueIdentifier)
    var entry = Entry(
      download: download, state: .waiting, ownUrgency: urgency, owner: owner, generation: generation)
    change(&entry)
    insert(entry)
    return [.store(entry), .add(download, urgency: entry.urgency, owner: owner, isPaused: isPaused(entry))]
  }

  /// B51: what is essential has its urgency from the start.
  mutating func plan(
    _ download: PlannedDownload, _ urgency: Urgency, _ generation: Int, isManifest: Bool
  ) -> [Effect] {
    if let failure = rejection(of: download, isManifest: isManifest) {
      // The same again, because the service died before it was confirmed.
      if let entry = entries[download.uniqueIdentifier], entry.generation == generation { return [] }
      let rejected = RejectedDownload(
        identifier: download.identifier, code: Int32(clamping: failure.code), reason: failure.message)
      return [.reject(uniqueIdentifier: download.uniqueIdentifier, rejected)]
    }
    return add(
      download, urgency, isManifest ? .service : .extension, generation: generation
    ) { $0.isManifest = isManifest }
  }

  mutating func refuse(_ manifest: PlannedDownload, _ generation: Int) -> [Effect] {
    guard entries[manifest.uniqueIdentifier] == nil else { return [] }
    return keepFailed(
      Entry(
        download: manifest, state: .waiting, ownUrgency: manifest.isEssential ? .essential : .background,
        owner: .service, generation: generation, isManifest: true))
  }

  mutating func setPaused(generation: Int, _ isPaused: Bool) -> [Effect] {
    let meant = (generations[generation] ?? []).sorted()
    guard !meant.isEmpty, pausedGenerations.contains(generation) != isPaused else { return [] }
    if isPaused { pausedGenerations.insert(generation) } else { pausedGenerations.remove(generation) }
    return meant.compactMap { unique in
      guard let entry = entries[unique], !entry.isPaused, !entry.isCancelling else { return nil }
      return isPaused ? .pause(uniqueIdentifier: unique) : .resume(uniqueIdentifier: unique)
    }
  }

  /// Also of earlier generations: one that is asked again has the downloads of the first time.
  mutating func gateOpened(_ generation: Int) -> [Effect] {
    let meant = generations.keys.filter { $0 <= generation }.sorted()
    return meant.flatMap { gateOpened(of: $0) }
  }

  private mutating func gateOpened(of generation: Int) -> [Effect] {
    let meant = (generations[generation] ?? []).sorted()
    let resumed = setPaused(generation: generation, false)
    return resumed
      + meant.flatMap { unique -> [Effect] in
        guard let entry = entries[unique], entry.ownUrgency == .essential else { return [] }
        entries[unique]?.ownUrgency = .background
        guard entry.urgency == .essential else { return store(unique) }
        return store(unique) + [.setUrgency(uniqueIdentifier: unique, urgency: .background)]
      }
  }

  mutating func engineStarted(_ unique: String) -> [Effect] {
    guard let entry = entries[unique], entry.state == .waiting else { return [] }
    entries[unique]?.state = .downloading
    entries[unique]?.isKnownToEngine = true
    return store(unique) + [.began(uniqueIdentifier: unique)]
  }

  mutating func engineWaiting(_ unique: String) -> [Effect] {
    guard let entry = entries[unique], entry.state == .downloading else { return [] }
    entries[unique]?.state = .waiting
    return store(unique) + [.paused(uniqueIdentifier: unique)]
  }

  mutating func engineSettled(_ unique: String, _ settlement: Settlement) -> [Effect] {
    // The engine may say it again after a restart.
    guard let entry = entries[unique], entry.state != .failed else { return [] }
    unlink(entry)
    var effects: [Effect] = []
    if case .failed = settlement {
      effects = keepFailed(entry)
    } else {
      entries[unique] = nil
      _ = recent.insert(unique)
      effects.append(.remove(uniqueIdentifier: unique))
    }
    return effects + [.settled(uniqueIdentifier: unique, identifier: entry.download.identifier, settlement: settlement)]
  }

  private mutating func keepFailed(_ entry: Entry) -> [Effect] {
    let unique = entry.download.uniqueIdentifier
    var failure = entry
    failure.state = .failed
    failure.promotedBy = []
    failure.isCancelling = false
    entries[unique] = failure
    guard let oldest = failed.insert(unique) else { return [.store(failure)] }
    entries[oldest] = nil
    return [.store(failure), .remove(uniqueIdentifier: oldest)]
  }

  mutating func abandon(_ unique: String) -> [Effect] {
    guard let entry = entries[unique], entry.state != .failed else { return [] }
    unlink(entry)
    return keepFailed(entry) + [.cancel(uniqueIdentifier: unique)]
  }

  mutating func withdraw(_ unique: String) -> [Effect] {
    guard let entry = entries.removeValue(forKey: unique) else { return [] }
    unlink(entry)
    failed.remove(unique)
    return [.remove(uniqueIdentifier: unique)]
  }

  /// Commands that the engine hasn't confirmed are given again; connections went with the service.
  mutating func restarted() -> [Effect] {
    promotions.removeAll()
    var effects: [Effect] = []
    for unique in entries.keys.sorted() {
      guard let entry = entries[unique], entry.state != .failed else { continue }
      if !entry.promotedBy.isEmpty {
        entries[unique]?.promotedBy = []
        effects += store(unique)
        if entry.ownUrgency != .foreground {
          effects.append(.setUrgency(uniqueIdentifier: unique, urgency: entry.ownUrgency))
        }
      }
      if !entry.isKnownToEngine {
        effects.append(
          .add(entry.download, urgency: entry.ownUrgency, owner: entry.owner, isPaused: isPaused(entry)))
      }
      // The gate may have opened just before the service died (B51).
      if entry.download.isEssential, entry.ownUrgency == .background, entry.isKnownToEngine, entry.promotedBy.isEmpty {
        effects.append(.setUrgency(uniqueIdentifier: unique, urgency: .background))
      }
      if entry.isCancelling { effects.append(.cancel(uniqueIdentifier: unique)) }
    }
    return effects
  }
}
