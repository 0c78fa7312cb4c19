internal import AssetModel

/// Origins whose HTTP/2 does harm, and those that ask for fewer requests.
extension EngineCore {
  static let calmTime: Duration = .seconds(3600)
  static let timeWithoutHTTP2: Duration = .seconds(24 * 3600)

  func avoidsHTTP2(_ url: ParsedURL) -> Bool {
    let state = origins[originNumber(url)]
    return state.calmings > 1 || state.leavesHTTP2Until != nil
  }

  /// A broken stream is like a broken connection; a broken connection leaves a protocol that can be broken in fewer ways.
  func concludeHTTP2(_ segment: Segment, _ problem: TransportEnd.Problem, _ end: TransportEnd, _ text: String) {
    // A request fits into one packet. What can't be sent are answers to a flood: there is a limit to those that wait.
    if end.brokeSending, !end.cameTooLate { distrustHTTP2(segment) }
    guard case .http2(let isConnection) = problem else { return }
    let number = originNumber(segment.url)
    if Self.asksForCalm(text) {
      origins[number].calmings += 1
      origins[number].calmUntil = clock.boot + Self.calmTime
      scheduler.halve(number)
      events.send(.note(segment.job, "\(segment.url.origin) asks for fewer requests at once"))
    } else if isConnection {
      distrustHTTP2(segment)
    }
  }

  static func asksForCalm(_ text: String) -> Bool { text.contains("ENHANCE_YOUR_CALM") }

  /// The next attempt is by HTTP/1.1.
  func distrustHTTP2(_ segment: Segment) {
    guard segment.mayBeHTTP2 else { return }
    origins[originNumber(segment.url)].leavesHTTP2Until = clock.boot + Self.timeWithoutHTTP2
  }

  func leaveHTTP2(_ url: ParsedURL, _ problem: TransferProblem) -> Segment.Plan {
    origins[originNumber(url)].leavesHTTP2Until = clock.boot + Self.timeWithoutHTTP2
    return .problem(problem, retryAfter: nil)
  }
}
