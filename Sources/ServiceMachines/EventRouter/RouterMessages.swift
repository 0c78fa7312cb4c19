/// Who may get a download's events.
package enum Recipient: Sendable, Hashable, Codable {
  /// A process of the app, by its connection.
  case connection(Int64)
  /// A delegate that a running extension set for itself (B31).
  case delegate(run: Int64)
  /// The entry points of an extension that was woken for it.
  case entryPoint(run: Int64)
}

extension EventRouter {
  package enum Kind: String, Sendable, Codable {
    case began, paused, progress, challenge, failed, finished

    /// Whether it has to be handled; the extension is woken if no delegate does (B30).
    package var needsAnswer: Bool { self == .challenge || self == .failed || self == .finished }
  }

  /// One event of a download. Numbers are given by the caller and never used twice.
  package struct Occurrence: Sendable, Equatable, Codable {
    package var number: Int64
    package var uniqueIdentifier: String
    package var kind: Kind

    package init(number: Int64, uniqueIdentifier: String, kind: Kind) {
      self.number = number
      self.uniqueIdentifier = uniqueIdentifier
      self.kind = kind
    }
  }

  package enum Event: Sendable, Equatable, Codable {
    case occurred(Occurrence)
    /// A delegate was set or taken away (B28).
    case observing(recipient: Recipient, isObserving: Bool)
    /// The recipient's answer to `call`. An unhandled one goes on to the extension.
    case answered(number: Int64, recipient: Recipient, isHandled: Bool)
    /// Connection lost, run ended.
    case left(recipient: Recipient)
    /// The run that was asked for begins: `extensionReady` follows, or it ends before it was ready.
    case wakeGranted(run: Int64)
    /// A woken extension takes what waits for it.
    case extensionReady(run: Int64)
    /// The run takes nothing more. What it was called for goes on.
    case extensionEnding(run: Int64)
    /// The run ended, or was told to, before it could be called for that: it waits for the next one.
    case notCalled(number: Int64, recipient: Recipient)
    /// No wake for now: a challenge can't wait, the others can.
    case wakeRefused
    /// The planner reconsiders: what waits is asked for again.
    case wakePossible
    /// It isn't needed any more: the download was cancelled.
    case dropped(number: Int64)
    case tick
    /// `isAppRunning`: a process of the app was connected when the service died, and may come back.
    case restarted(isAppRunning: Bool)
  }

  package enum Effect: Sendable, Equatable, Codable {
    /// No answer is expected.
    case notify(recipients: [Recipient], occurrence: Occurrence)
    case call(recipient: Recipient, occurrence: Occurrence)
    /// The answer counts for nothing any more.
    case withdraw(recipient: Recipient, number: Int64)
    /// Ask the planner for a wake with reason `callbacks`; then `extensionReady`, or `wakeRefused`.
    case wakeExtension
    /// It has gone through every recipient.
    case resolved(occurrence: Occurrence, resolution: Resolution)
  }

  package enum Resolution: Sendable, Equatable, Codable {
    case handled(by: [Recipient])
    /// The last recipient ended or kept silent during the call; a file or a failure is offered again.
    case recipientGone(Recipient)
    /// A challenge that no recipient answered: default handling (B72).
    case unhandled
    case dropped
  }
}
