internal import AssetModel
internal import Downloads
internal import ServiceMachines
internal import ServiceProtocol

/// The engine's authentication challenges, until an app or an extension has answered them.
final class PendingChallenges {
  private let decider: Decider
  private let downloads: DownloadTable
  private var answers: [Int64: CheckedContinuation<ChallengeAnswer, Never>] = [:]
  private var values: [Int64: ChallengeValue] = [:]
  private var keys: [Int64: Transfers.Key] = [:]

  init(decider: Decider, downloads: DownloadTable) {
    self.decider = decider
    self.downloads = downloads
  }

  /// What the occurrence of that number asks.
  subscript(number: Int64) -> ChallengeValue? { values[number] }

  /// The engine asks who may have a download.
  func answer(_ challenge: AuthenticationChallenge) async -> ChallengeAnswer {
    guard downloads[challenge.app]?[challenge.identifier] != nil, let value = ChallengeValue(challenge) else {
      return .performDefaultHandling
    }
    let number = decider.newOccurrence()
    values[number] = value
    keys[number] = Transfers.Key(app: challenge.app, download: challenge.identifier)
    defer { (values[number], keys[number]) = (nil, nil) }
    return await withCheckedContinuation { continuation in
      answers[number] = continuation
      decider.process(.app(challenge.app, .challenged(download: challenge.identifier, number: number)))
    }
  }

  func take(_ answer: ChallengeAnswer, to number: Int64) {
    guard let continuation = answers.removeValue(forKey: number) else { return }
    if answer == .cancel, let key = keys[number] {
      downloads.change(key.app, key.download) { $0.isChallengeCancelled = true }
    }
    continuation.resume(returning: answer)
  }
}

extension ChallengeValue {
  /// nil for what an `URLAuthenticationChallenge` can't express.
  init?(_ challenge: AuthenticationChallenge) {
    let origin = try? ParsedURL(challenge.origin)
    guard let origin else { return nil }
    let (method, realm): (String, String)
    switch challenge.kind {
    case .credentials(let scheme, let asked, _):
      method = "NSURLAuthenticationMethodHTTP\(scheme.lowercased() == "digest" ? "Digest" : "Basic")"
      realm = asked
    case .serverTrust: (method, realm) = ("NSURLAuthenticationMethodServerTrust", "")
    case .clientCertificate: (method, realm) = ("NSURLAuthenticationMethodClientCertificate", "")
    }
    self.init(
      host: origin.host, port: Int(origin.port), scheme: origin.scheme, realm: realm, authenticationMethod: method,
      previousFailureCount: challenge.previousFailureCount)
  }
}

extension ChallengeAnswer {
  init(_ reply: ChallengeReply) {
    switch reply.disposition {
    case 0: self = reply.user.map { .credential(user: $0, password: reply.password ?? "") } ?? .performDefaultHandling
    case 2: self = .cancel
    default: self = .performDefaultHandling
    }
  }

  init(_ decision: ChallengeDecision) {
    switch decision.disposition {
    case .useCredential:
      self = decision.credential.map { .credential(user: $0.user, password: $0.password) } ?? .performDefaultHandling
    case .performDefaultHandling, .rejectProtectionSpace: self = .performDefaultHandling
    case .cancel: self = .cancel
    }
  }
}
