/// Why the head of a response isn't taken: the connection is dropped, and the answer counts as hostile.
enum HeadFailure: Error, Sendable, Equatable, CustomStringConvertible {
  case tooLarge(bytes: Int)
  case tooManyFields(Int)
  case malformed(String)

  var description: String {
    switch self {
    case .tooLarge(let bytes): "the response's fields have more than \(bytes) bytes"
    case .tooManyFields(let count): "the response has more than \(count) fields"
    case .malformed(let what): "the response's head is malformed: \(what)"
    }
  }
}
