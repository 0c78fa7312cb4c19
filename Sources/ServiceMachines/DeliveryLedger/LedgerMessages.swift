extension DeliveryLedger {
  package enum Event: Sendable, Equatable, Codable {
    /// A download ended, which has to be delivered. `hasFile`: a finished one, whose identifier is known, too.
    case staged(uniqueIdentifier: String, identifier: String? = nil, hasFile: Bool)
    /// The extension is asked what there is to download, and looks at the files that it has.
    case asked
    /// It has answered, and what it asked for was scheduled or refused.
    case answered
    case gateClosed
    /// The batch that waited may go out (B14).
    case gateOpened
    /// Journalled before the recipient is called.
    case offered(uniqueIdentifier: String, recipient: Recipient)
    /// The callback returned. `isMoved`: the file isn't where it was staged any more.
    case acknowledged(uniqueIdentifier: String, isMoved: Bool)
    /// The recipient ended before the callback returned.
    case recipientGone(uniqueIdentifier: String, isMoved: Bool)
    /// Answers `inspect`.
    case inspected(uniqueIdentifier: String, isMoved: Bool)
    /// The file was purged or the app removed.
    case discarded(uniqueIdentifier: String)
    case restarted
  }

  package enum Effect: Sendable, Equatable, Codable {
    /// To the router, in this order.
    case offer([String])
    /// The callback returned and left the file (B55).
    case deleteFile(uniqueIdentifier: String)
    /// The file has another owner now, or none is left: its row may go.
    case close(uniqueIdentifier: String, outcome: Outcome)
    /// Look whether the file is still where it was staged. Answer: `inspected`.
    case inspect(uniqueIdentifier: String)
  }

  package enum Outcome: String, Sendable, Codable {
    /// Told, and the file taken; or told of a failure.
    case delivered
    /// Told, and the file left: it is deleted.
    case left
    /// Three recipients ended while they were told: kept, purgeable.
    case undelivered
  }
}
