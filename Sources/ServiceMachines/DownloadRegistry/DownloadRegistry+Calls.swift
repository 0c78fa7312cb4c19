internal import AssetModel

// What clients and extensions ask for.
extension DownloadRegistry {
  mutating func schedule(_ call: UInt64, _ download: PlannedDownload, _ caller: Caller) -> [Effect] {
    if case .extension(_, isAnswering: true) = caller {
      return refuse(call, 50, "scheduling isn't allowed while downloads(for:manifestURL:extensionInfo:) runs")
    }
    if download.isEssential { return refuseEssential(call, download) }
    if !isBackgroundActivityAllowed {
      return refuse(call, 111, "background activity is switched off, by the settings or for saving power")
    }
    if let failure = rejection(of: download) { return [.refuse(call: call, failure: failure)] }
    return add(download, .background, caller.owner, generation: nil)
      + [.accept(call: call, uniqueIdentifier: download.uniqueIdentifier)]
  }

  mutating func startForeground(
    _ call: UInt64, _ download: PlannedDownload, _ state: State, _ caller: Caller
  ) -> [Effect] {
    let unique = download.uniqueIdentifier
    switch caller {
    case .extension: return refuse(call, 50, "an extension can't start a foreground download")
    case .app(_, isActive: false): return refuse(call, 51, "an inactive process can't start a foreground download")
    case .app, .operator: break
    }
    // The service's own: where a user waits for it, it has its urgency already, and is no fault of who promotes all that is there.
    if let entry = entries[unique], entry.isManifest, entry.state != .failed, entry.ownUrgency == .essential {
      return [.accept(call: call, uniqueIdentifier: unique)]
    }
    if download.isEssential { return refuseEssential(call, download) }
    if let entry = entries[unique], state != .created || entry.state != .failed {
      if entry.state == .failed { return refuse(call, 103, failedText(entry)) }
      if entry.isCancelling { return refuse(call, 101, notScheduledText(download.identifier)) }
      return promote(entry, caller) + [.accept(call: call, uniqueIdentifier: unique)]
    }
    if let failure = rejection(of: download) { return [.refuse(call: call, failure: failure)] }
    if state != .created { return refuseUnknown(call, download.identifier, unique, state) }
    var effects = add(download, caller.connection == nil ? .foreground : .background, caller.owner, generation: nil) {
      if let connection = caller.connection { $0.promotedBy = [connection] }
    }
    if let connection = caller.connection { promotions[connection, default: []].insert(unique) }
    effects.append(.accept(call: call, uniqueIdentifier: unique))
    return effects
  }

  /// B39: nothing happens to what is in the foreground already, and nothing is loaded again.
  private mutating func promote(_ entry: Entry, _ caller: Caller) -> [Effect] {
    let unique = entry.download.uniqueIdentifier
    var promoted = entry
    if let connection = caller.connection {
      promoted.promotedBy.insert(connection)
      promotions[connection, default: []].insert(unique)
    } else {
      promoted.ownUrgency = .foreground
    }
    promoted.isPaused = false
    guard promoted != entry else { return [] }
    entries[unique] = promoted
    var effects = store(unique)
    if entry.urgency != .foreground { effects.append(.setUrgency(uniqueIdentifier: unique, urgency: .foreground)) }
    if isPaused(entry), !isPaused(promoted) { effects.append(.resume(uniqueIdentifier: unique)) }
    return effects
  }

  mutating func demote(_ unique: String, _ connection: Int64) -> [Effect] {
    guard let entry = entries[unique], entry.promotedBy.contains(connection) else { return [] }
    entries[unique]?.promotedBy.remove(connection)
    let urgency = entries[unique]?.urgency ?? entry.urgency
    guard urgency != entry.urgency, entry.state != .failed else { return store(unique) }
    return store(unique) + [.setUrgency(uniqueIdentifier: unique, urgency: urgency)]
  }

  mutating func cancel(_ call: UInt64, _ identifier: String, _ unique: String, _ state: State) -> [Effect] {
    let name = unique.isEmpty ? scheduled[identifier] ?? "" : unique
    guard let entry = entries[name] else { return refuseUnknown(call, identifier, unique, state) }
    if entry.state == .failed { return refuse(call, 103, failedText(entry)) }
    let accepted: [Effect] = [.accept(call: call, uniqueIdentifier: name)]
    // It may be repeated without harm (X7).
    return entry.isCancelling ? accepted : cancel(name) + accepted
  }

  private mutating func cancel(_ unique: String) -> [Effect] {
    entries[unique]?.isCancelling = true
    return store(unique) + [.cancel(uniqueIdentifier: unique)]
  }

  mutating func cancelAll(of generation: Int?) -> [Effect] {
    let meant = generation.map { generations[$0] ?? [] } ?? Set(entries.keys)
    return meant.sorted().flatMap { unique -> [Effect] in
      guard let entry = entries[unique], entry.state != .failed, !entry.isCancelling else { return [] }
      return cancel(unique)
    }
  }

  mutating func setPaused(_ call: UInt64, _ unique: String, _ isPaused: Bool) -> [Effect] {
    guard let entry = entries[unique] else { return refuseUnknown(call, "", unique, .waiting) }
    if entry.state == .failed { return refuse(call, 103, failedText(entry)) }
    let accepted: [Effect] = [.accept(call: call, uniqueIdentifier: unique)]
    guard entry.isPaused != isPaused else { return accepted }
    entries[unique]?.isPaused = isPaused
    guard let changed = entries[unique], self.isPaused(changed) != self.isPaused(entry) else {
      return store(unique) + accepted
    }
    return store(unique) + [isPaused ? .pause(uniqueIdentifier: unique) : .resume(uniqueIdentifier: unique)] + accepted
  }

  // MARK: Refusals

  private func refuse(_ call: UInt64, _ code: Int, _ message: String) -> [Effect] {
    [.refuse(call: call, failure: .framework(code, message))]
  }

  private func refuseEssential(_ call: UInt64, _ download: PlannedDownload) -> [Effect] {
    refuse(
      call, 109,
      "the download \(Printable.text(download.identifier)) is essential; such downloads are answered for install and update only"
    )
  }

  /// 101: not scheduled, or complete. 103: failed. 113: unknown (B44, B76).
  private func refuseUnknown(_ call: UInt64, _ identifier: String, _ unique: String, _ state: State) -> [Effect] {
    if state == .failed { return refuse(call, 103, "the download \(Printable.text(identifier)) has already failed") }
    if state == .created || state == .finished || recent.contains(unique) {
      return refuse(call, 101, notScheduledText(identifier))
    }
    return refuse(
      call, 113, "the service knows no download \(Printable.text(identifier.isEmpty ? unique : identifier))")
  }

  private func failedText(_ entry: Entry) -> String {
    "the download \(Printable.text(entry.download.identifier)) has already failed; schedule it again"
  }

  private func notScheduledText(_ identifier: String) -> String {
    "the download \(Printable.text(identifier)) isn't scheduled, or is complete"
  }
}

extension DownloadRegistry.Caller {
  var owner: DownloadRegistry.Owner {
    switch self {
    case .app, .operator: .app
    case .extension: .extension
    }
  }

  var connection: Int64? { if case .app(let connection, _) = self { connection } else { nil } }
}
