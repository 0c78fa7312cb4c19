/// Why the journal couldn't be read or written. Two are equal that say the same.
struct JournalFailure: Error, Equatable, CustomStringConvertible {
  let error: any Error

  init(_ error: any Error) { self.error = error }

  var description: String { "\(error)" }

  static func == (one: Self, other: Self) -> Bool { one.description == other.description }
}
