import CExtension
internal import ServiceClient
internal import ServiceProtocol

/// Who grants exclusive control: the host that loaded this extension, or the service to which this app is connected.
enum ControlSource: Sendable {
  case host(Host)
  case service(ServiceLink)

  /// Gives control back.
  typealias Release = @Sendable () -> Void

  func beginActivity() { if case .host(let host) = self { host.beginActivity() } }
  func endActivity() { if case .host(let host) = self { host.endActivity() } }

  /// Blocks until control is acquired or can't be.
  ///
  /// - Parameter date: Until when; nil: as long as process and connection last.
  func acquire(before date: Date?) -> Result<Release, any Error> {
    let seconds = date?.timeIntervalSinceNow
    switch self {
    case .host(let host):
      let status = host.acquireExclusiveControl(timeout: seconds.map(Self.nanoseconds) ?? BA_NO_TIMEOUT)
      if status == BA_OK { return .success { host.releaseExclusiveControl() } }
      if let date, status == BA_FAILED { return .failure(FrameworkError.exclusiveControlTimedOut(date)) }
      return .failure(
        FrameworkError.answered(status, to: "withExclusiveControl", fallback: .callerConnectionInvalid))
    case .service(let link): return link.acquireControl(before: date, seconds: seconds)
    }
  }

  /// A century is for ever, and more of them wouldn't fit into 64 bits; what isn't a number is no time at all.
  static let maxSeconds: TimeInterval = 3_155_760_000

  private static func nanoseconds(_ seconds: TimeInterval) -> Int64 {
    seconds > maxSeconds ? BA_NO_TIMEOUT : seconds > 0 ? Int64(seconds * 1e9) : 0
  }
}

extension ServiceLink {
  /// Control belongs to the connection on which it was acquired: it is lost with it, and given back there only.
  fileprivate func acquireControl(
    before date: Date?, seconds: TimeInterval?
  ) -> Result<ControlSource.Release, any Error> {
    let token = newToken()
    let timeout = seconds.flatMap { $0 > ControlSource.maxSeconds ? nil : $0 > 0 ? $0 : 0 }
    do {
      let session = try connected().session
      _ = try session.requestBlocking(
        .acquireControl(token: token, timeout: timeout),
        within: timeout.map { Int(min($0, Double(Int32.max))) + Self.maxAnswerSeconds })
      return .success {
        // With its reply: who waits for the end of its turn may look at what the other side does next.
        _ = try? session.requestBlocking(.releaseControl(token: token), within: Self.maxAnswerSeconds)
      }
    } catch {
      let isOfCaller = BAErrorCode(rawValue: error.code).map {
        [.callerConnectionInvalid, .callerConnectionNotAccepted].contains($0)
      }
      if let date, isOfCaller != true || error.domain != ServiceFailure.frameworkDomain {
        return .failure(FrameworkError.exclusiveControlTimedOut(date))
      }
      return .failure(error.error(of: "withExclusiveControl"))
    }
  }
}
