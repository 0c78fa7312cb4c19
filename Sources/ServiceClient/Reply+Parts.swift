internal import ServiceProtocol

extension Reply {
  /// The whole of a list whose beginning came in parts. A part of another kind than the rest counts for nothing.
  func merged(after parts: [Reply]) -> Reply {
    guard !parts.isEmpty else { return self }
    var whole = parts[0]
    for part in parts.dropFirst() + [self] { whole.append(part) }
    return whole
  }

  private mutating func append(_ next: Reply) {
    switch (self, next) {
    case (.downloads(let some), .downloads(let more)): self = .downloads(some + more)
    case (.apps(let some), .apps(let more)): self = .apps(some + more)
    case (.downloadList(let some), .downloadList(let more)): self = .downloadList(some + more)
    case (.runs(let some), .runs(let more)): self = .runs(some + more)
    case (.log(let some), .log(let more)): self = .log(some + more)
    default: break
    }
  }
}
