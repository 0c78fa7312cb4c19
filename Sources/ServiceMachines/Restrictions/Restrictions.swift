internal import AssetModel

/// What an app may download between its installation and its first launch (B60 to B64).
///
/// The journal's budgets count and bound the bytes of every transfer, across crashes. This machine says which of them are
/// set, and answers at once what can't be scheduled: what it reserves is what the journal will reserve.
package struct Restrictions: Sendable, Equatable, Codable {
  package enum Event: Sendable, Equatable, Codable {
    /// A download is to be scheduled, in this order: allow list, then size. Answered by `admit` or `refuse`.
    case requested(PlannedDownload, isManifest: Bool)
    /// Bytes that arrived for a download since the last time.
    case received(uniqueIdentifier: String, bytes: Int64)
    /// Its transfer is over, and this is what the journal's budget was charged with in all: heads, attempts that came to nothing,
    /// and what has arrived since the last time. It has arrived, so that nothing fails for it any more.
    case ended(uniqueIdentifier: String, charged: Int64)
    /// It won't use any more: the rest of its reservation is free again.
    case settled(uniqueIdentifier: String)
    case launched
    /// An update brought other values, before the first launch.
    case limitsChanged(Limits)
    /// The user's setting (B9): nothing but manifests may be scheduled before the first launch (206).
    case contentBeforeLaunch(isAllowed: Bool)
    /// The journal's budgets are set anew.
    case restarted
  }

  package enum Effect: Sendable, Equatable, Codable {
    /// `budget`: the name of the journal's budget that it is charged to; nil: none.
    case admit(uniqueIdentifier: String, budget: Budget?)
    case refuse(uniqueIdentifier: String, failure: Failure)
    /// 204: the transfer went beyond the allowance.
    case fail(uniqueIdentifier: String, failure: Failure)
    /// nil: there is no such budget any more.
    case setBudget(Budget, allowed: Int64?)
  }

  package enum Budget: String, Sendable, Codable, CaseIterable {
    case essential, other

    /// The key of the property list that says how large it is.
    package var key: String { self == .essential ? "BAEssentialDownloadAllowance" : "BADownloadAllowance" }
  }

  /// `BAInitialDownloadRestrictions`, and bytes as in 3.1.
  package struct Limits: Sendable, Equatable, Codable {
    package var allowance: Int64
    package var essentialAllowance: Int64
    /// `BADownloadDomainAllowList`; nil: any host.
    package var domains: [String]?

    package init(allowance: Int64, essentialAllowance: Int64, domains: [String]?) {
      self.allowance = max(0, allowance)
      self.essentialAllowance = max(0, essentialAllowance)
      self.domains = domains
    }
  }

  /// As much is always left for a manifest, and before one is here for nothing else (B62).
  package static let manifestPart: Int64 = 1 << 20

  struct Reservation: Sendable, Equatable, Codable {
    var budget: Budget
    var isManifest: Bool
    var bytes: Int64
    /// What it was charged with by now.
    var charged: Int64 = 0
  }

  struct Use: Sendable, Equatable, Codable {
    var charged: Int64 = 0
    var reserved: Int64 = 0
    var manifestCharged: Int64 = 0
    var manifestReserved: Int64 = 0

    /// A manifest is here, and none is on its way.
    var hasManifest: Bool { manifestCharged > 0 && manifestReserved == 0 }
  }

  package private(set) var limits: Limits
  package private(set) var isActive = true
  var isContentAllowed = true
  private var reservations = ReservationTable()
  private var essential = Use()
  private var other = Use()

  package init(limits: Limits) { self.limits = limits }

  /// Puts equal strings that are there already in the place of its own: an app may have 100,000.
  package mutating func shareNames(_ shared: (String) -> String) { reservations.shareNames(shared) }

  /// Bytes that may still be scheduled, as the extension sees them (B64); nil: nothing is restricted.
  package var remaining: Int64? { isActive ? available(.other, isManifest: false) : nil }
  package var essentialRemaining: Int64? { isActive ? available(.essential, isManifest: false) : nil }
  /// Bytes used or promised.
  package func used(_ budget: Budget) -> Int64 {
    let use = self[budget]
    return [use.charged, use.reserved, use.manifestCharged, use.manifestReserved].reduce(0, Nanoseconds.sum)
  }

  package mutating func handle(_ event: Event, now: Instant) -> [Effect] {
    let before = essentialBudget
    let effects = effects(of: event)
    // Said after what it follows from; `budgets` says it in any case.
    guard isActive, essentialBudget != before, !effects.contains(.setBudget(.essential, allowed: essentialBudget))
    else {
      return effects
    }
    return effects + [.setBudget(.essential, allowed: essentialBudget)]
  }

  private mutating func effects(of event: Event) -> [Effect] {
    switch event {
    case .requested(let download, let isManifest): return requested(download, isManifest: isManifest)
    case .received(let unique, let bytes): return received(unique, max(0, bytes))
    case .ended(let unique, let charged):
      if let reservation = reservations.rows[unique] { charge(unique, reservation, charged - reservation.charged) }
      return []
    case .settled(let unique):
      guard let reservation = reservations.rows.removeValue(forKey: unique) else { return [] }
      book(reservation, reserve: -reservation.bytes, charge: 0)
      return []
    case .launched:
      guard isActive else { return [] }
      isActive = false
      reservations.rows.removeAll()
      return Budget.allCases.map { .setBudget($0, allowed: nil) }
    case .limitsChanged(let limits):
      self.limits = limits
      return isActive ? budgets : []
    case .contentBeforeLaunch(let isAllowed):
      isContentAllowed = isAllowed
      return []
    case .restarted: return isActive ? budgets : Budget.allCases.map { .setBudget($0, allowed: nil) }
    }
  }

  /// What the journal is told. It keeps 1 MiB of every budget for a manifest, and no manifest is charged to `other`.
  private var budgets: [Effect] {
    [
      .setBudget(.essential, allowed: essentialBudget),
      .setBudget(.other, allowed: Nanoseconds.sum(limits.allowance, Self.manifestPart)),
    ]
  }

  /// With what the journal keeps for a manifest on top, where that is here and didn't need all of it.
  private var essentialBudget: Int64 {
    guard essential.hasManifest else { return limits.essentialAllowance }
    let unused = max(0, Self.manifestPart - essential.manifestCharged)
    return max(0, Nanoseconds.sum(limits.essentialAllowance, unused))
  }

  private mutating func requested(_ download: PlannedDownload, isManifest: Bool) -> [Effect] {
    let unique = download.uniqueIdentifier
    guard isActive else { return [.admit(uniqueIdentifier: unique, budget: nil)] }
    let budget: Budget = download.isEssential || isManifest ? .essential : .other
    if reservations.rows[unique] != nil { return [.admit(uniqueIdentifier: unique, budget: budget)] }
    if let failure = refusal(of: download, budget, isManifest: isManifest) {
      return [.refuse(uniqueIdentifier: unique, failure: failure)]
    }
    // Of unknown size: bounded by 204 alone (B63), but a manifest has its part.
    let reservation = Reservation(
      budget: budget, isManifest: isManifest, bytes: max(0, download.size ?? (isManifest ? Self.manifestPart : 0)))
    reservations.rows[unique] = reservation
    book(reservation, reserve: reservation.bytes, charge: 0)
    return [.admit(uniqueIdentifier: unique, budget: budget)]
  }

  private func refusal(of download: PlannedDownload, _ budget: Budget, isManifest: Bool) -> Failure? {
    let name = Printable.text(download.identifier)
    if !isContentAllowed, !isManifest {
      return .framework(206, "the settings allow no content before the first launch: \(name)")
    }
    if let domains = limits.domains, !domains.contains(where: { Self.matches(download.host, $0) }) {
      return .framework(
        202,
        "the host \(Printable.text(download.host)) of \(name) isn't in BADownloadDomainAllowList; it may be asked after the first launch"
      )
    }
    let left = available(budget, isManifest: isManifest)
    guard let size = download.size ?? (isManifest ? Self.manifestPart : nil), size > left else { return nil }
    return .framework(
      isManifest ? 203 : 112,
      "\(name) has \(size) bytes and \(budget.key) has \(left) left: \(size - left) too many before the first launch")
  }

  /// What a download was charged with before the service began anew: its progress goes on from there.
  package func charged(_ unique: String) -> Int64 { reservations.rows[unique]?.charged ?? 0 }

  private mutating func charge(_ unique: String, _ reservation: Reservation, _ bytes: Int64) {
    guard bytes > 0 else { return }
    let covered = min(bytes, reservation.bytes)
    reservations.rows[unique]?.bytes -= covered
    reservations.rows[unique]?.charged = Nanoseconds.sum(reservation.charged, bytes)
    book(reservation, reserve: -covered, charge: bytes)
  }

  private mutating func received(_ unique: String, _ bytes: Int64) -> [Effect] {
    guard isActive, let reservation = reservations.rows[unique] else { return [] }
    let more = bytes - min(bytes, reservation.bytes)
    // A manifest's part is what was reserved for it: there is no second one.
    let left = available(reservation.budget, isManifest: reservation.isManifest, isBeyondItsPart: true)
    charge(unique, reservation, bytes)
    guard more > left else { return [] }
    return [
      .fail(
        uniqueIdentifier: unique,
        failure: .framework(204, "the transfer went beyond \(reservation.budget.key) by \(more - left) bytes"))
    ]
  }

  /// As the journal's budgets count.
  private func available(_ budget: Budget, isManifest: Bool, isBeyondItsPart: Bool = false) -> Int64 {
    let use = self[budget]
    let allowed = budget == .essential ? limits.essentialAllowance : limits.allowance
    let left = max(0, allowed - min(allowed, Nanoseconds.sum(use.charged, use.reserved)))
    let manifest = Nanoseconds.sum(use.manifestCharged, use.manifestReserved)
    if isManifest {
      let part = isBeyondItsPart ? 0 : max(0, Self.manifestPart - use.manifestReserved)
      return max(part, left - min(left, manifest))
    }
    // Before a manifest is here nobody knows how large it is.
    let kept = budget == .essential && !use.hasManifest ? min(allowed, Self.manifestPart) : 0
    return max(0, left - min(left, max(kept, manifest)))
  }

  private subscript(budget: Budget) -> Use {
    get { budget == .essential ? essential : other }
    set { if budget == .essential { essential = newValue } else { other = newValue } }
  }

  private mutating func book(_ reservation: Reservation, reserve: Int64, charge: Int64) {
    var use = self[reservation.budget]
    if reservation.isManifest {
      use.manifestReserved = max(0, Nanoseconds.sum(use.manifestReserved, reserve))
      use.manifestCharged = Nanoseconds.sum(use.manifestCharged, charge)
    } else {
      use.reserved = max(0, Nanoseconds.sum(use.reserved, reserve))
      use.charged = Nanoseconds.sum(use.charged, charge)
    }
    self[reservation.budget] = use
  }

  /// `*.example.com` matches every host below `example.com`, and not that one itself. Names have no case, and a dot at the
  /// end says nothing (RFC 1035, 2.3.3).
  package static func matches(_ host: String, _ pattern: String) -> Bool {
    func plain(_ name: some StringProtocol) -> String {
      let lower = name.lowercased()
      return lower.hasSuffix(".") ? String(lower.dropLast()) : lower
    }
    let host = plain(host)
    guard !host.isEmpty else { return false }
    guard pattern.hasPrefix("*.") else { return host == plain(pattern) }
    let suffix = plain(pattern.dropFirst())
    return host.count > suffix.count && suffix.count > 1 && host.hasSuffix(suffix)
  }
}
