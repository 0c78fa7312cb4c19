/// Rules that say which request is answered how; the first that matches wins.
public struct FaultScript: Sendable, Equatable {
  /// All that is random comes from it.
  public var seed: UInt64
  public var rules: [Rule]
  public var connections: [ConnectionRule]

  public init(seed: UInt64 = 0, rules: [Rule] = [], connections: [ConnectionRule] = []) {
    self.seed = seed
    self.rules = rules
    self.connections = connections
  }

  /// What happens to a connection before its first request.
  public struct ConnectionRule: Sendable, Equatable {
    public enum Action: Sendable, Equatable {
      case reset
      /// Accepted and never answered: with TLS, a handshake that never ends.
      case silence
      /// Only with TLS.
      case certificate(CertificateFault)
    }
    /// Which connections, counted from 1: from … until, and of these every nth.
    public var from = 1
    public var until: Int?
    public var every = 1
    public var action: Action

    public init(_ action: Action) { self.action = action }
  }

  func action(forConnection number: Int) -> ConnectionRule.Action? {
    connections.first { rule in
      rule.from <= number && number <= rule.until ?? .max && (number - rule.from) % rule.every == 0
    }?.action
  }

  public struct Rule: Sendable, Equatable {
    /// `*` is anything within a segment, `**` anything at all, `?` one byte.
    public var path = "/**"
    public var method: String?
    /// Which requests of a path, counted from 1: from … until, and of these every nth.
    public var from = 1
    public var until: Int?
    public var every = 1
    public var probability = 1.0
    public var reply: Reply

    public init(_ path: String = "/**", _ reply: Reply = Reply()) {
      self.path = path
      self.reply = reply
    }
  }

  func reply(to request: RecordedRequest) -> Reply? {
    for (index, rule) in rules.enumerated() {
      guard rule.from <= request.nth, request.nth <= rule.until ?? .max, (request.nth - rule.from) % rule.every == 0,
        rule.method == nil || rule.method == request.method, Glob.matches(rule.path, request.path)
      else { continue }
      if rule.probability < 1 {
        let drawn = PseudoRandom.mix(seed &+ UInt64(index), request.path, request.nth) >> 11
        guard Double(drawn) * 0x1p-53 < rule.probability else { continue }
      }
      var reply = rule.reply
      reply.name = reply.name ?? "rule \(index + 1)"
      return reply
    }
    return nil
  }
}

/// Patterns of paths.
enum Glob {
  static func matches(_ pattern: String, _ path: String) -> Bool {
    let pattern = Array(pattern.utf8)
    let path = Array(path.utf8)
    let star = UInt8(ascii: "*")
    // reachable[i]: the pattern so far can end before byte i. Time is the product of both lengths, whatever they are.
    var reachable = [Bool](repeating: false, count: path.count + 1)
    reachable[0] = true
    var at = 0
    while at < pattern.count {
      let byte = pattern[at]
      if byte == star {
        let isDeep = at + 1 < pattern.count && pattern[at + 1] == star
        for index in path.indices where reachable[index] && (isDeep || path[index] != UInt8(ascii: "/")) {
          reachable[index + 1] = true
        }
        at += isDeep ? 2 : 1
        continue
      }
      for index in path.indices.reversed() {
        let isOne = byte == UInt8(ascii: "?") ? path[index] != UInt8(ascii: "/") : path[index] == byte
        reachable[index + 1] = reachable[index] && isOne
      }
      reachable[0] = false
      at += 1
    }
    return reachable[path.count]
  }
}
