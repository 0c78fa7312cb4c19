/// What an app may download between its installation and its first launch (B60 to B64).
///
/// The journal's budgets count and bound the bytes of every transfer, across crashes. This machine says which of them are
/// set, and answers at once what can't be scheduled: what it reserves is what the journal will reserve.
public struct Restrictions: Sendable, Equatable, Codable {
  public enum Event: Sendable, Equatable, Codable {
    /// A download is to be scheduled, in this order: allow list, then size. Answered by `admit` or `refuse`.
    case requested(PlannedDownload, isManifest: Bool)
    /// Bytes that arrived for a download since the last time.
    case received(uniqueIdentifier: String, bytes: Int64)
    /// It won't use any more: the rest of its reservation is free again.
    case settled(uniqueIdentifier: String)
    case launched
    /// An update brought other values, before the first launch.
    case limitsChanged(Limits)
    case restarted
  }

  public enum Effect: Sendable, Equatable, Codable {
    /// `budget`: the name of the journal's budget that it is charged to; nil: none.
    case admit(uniqueIdentifier: String, budget: Budget?)
    case refuse(uniqueIdentifier: String, failure: Failure)
    /// 204: the transfer went beyond the allowance.
    case fail(uniqueIdentifier: String, failure: Failure)
    /// nil: there is no such budget any more.
    case setBudget(Budget, allowed: Int64?)
  }

  public enum Budget: String, Sendable, Codable, CaseIterable { case essential, other }

  /// `BAInitialDownloadRestrictions`, and bytes as in 3.1.
  public struct Limits: Sendable, Equatable, Codable {
    public var allowance: Int64
    public var essentialAllowance: Int64
    /// `BADownloadDomainAllowList`; nil: any host.
    public var domains: [String]?

    public init(allowance: Int64, essentialAllowance: Int64, domains: [String]?) {
      self.allowance = max(0, allowance)
      self.essentialAllowance = max(0, essentialAllowance)
      self.domains = domains
    }
  }

  public private(set) var limits: Limits
  public private(set) var isActive = true

  public init(limits: Limits) { self.limits = limits }

  /// Bytes that may still be scheduled, as the extension sees them (B64); nil: nothing is restricted.
  public var remaining: Int64? { isActive ? limits.allowance : nil }
  public var essentialRemaining: Int64? { isActive ? limits.essentialAllowance : nil }

  public mutating func handle(_ event: Event, now: Instant) -> [Effect] { [] }
}
