internal import Basics
public import StrictYAML
internal import Yams

extension FaultScript {
  /// Reads a script as people write it:
  ///
  ///     version: 1
  ///     seed: 7
  ///     rules:
  ///       - path: /videos/**
  ///         on: 1
  ///         end: {after: 64KiB, how: reset}
  ///       - probability: 0.1
  ///         status: 503
  ///         retryAfter: 2
  ///
  /// What isn't understood is refused: a misspelt key would be a fault that never comes.
  public init(parsing text: String, file: String) throws(YAMLFileError) {
    self = try FaultScriptReader(nodes: YAMLNodes(file: file)).script(
      YAMLDocument(text, file: file, noun: "a script").root)
  }
}

/// Turns the nodes of a script into values.
private struct FaultScriptReader {
  private static let matchKeys = ["name", "path", "method", "probability"]
  private static let actionKeys = [
    "status", "reason", "headers", "remove", "rawHeaders", "body", "raw", "garbage", "delay", "slices", "rate", "end",
    "range",
    "entity", "length", "framing", "gzip", "redirect", "retryAfter", "digest", "flood",
  ]
  private static let maxNumber = 1 << 40

  let nodes: YAMLNodes

  func script(_ root: Node) throws(YAMLFileError) -> FaultScript {
    var script = FaultScript()
    var hasVersion = false
    for (key, value) in try nodes.pairs(root, "a script", known: ["version", "seed", "rules", "connections"]) {
      switch key {
      case "version":
        hasVersion = true
        let text = try nodes.scalar(value, key)
        guard text == "1" else {
          throw nodes.error(value, "version is \(nodes.shown(text)); this origin reads version 1")
        }
      case "seed": script.seed = UInt64(try nodes.integer(value, key, 0...Int.max))
      case "connections": for item in try nodes.items(value, key) { script.connections.append(try connection(item)) }
      default: for item in try nodes.items(value, "rules") { script.rules.append(try rule(item)) }
      }
    }
    guard hasVersion else {
      throw nodes.error(root, "a script needs 'version: 1'; the known keys are version, seed, rules, connections")
    }
    return script
  }

  private func rule(_ node: Node) throws(YAMLFileError) -> FaultScript.Rule {
    var rule = FaultScript.Rule()
    var turns = Turns()
    for (key, value) in try nodes.pairs(node, "a rule", known: Self.matchKeys + Turns.keys + Self.actionKeys) {
      if try turns.read(key, value, nodes) { continue }
      switch key {
      case "name": rule.reply.name = try nodes.scalar(value, key)
      case "path":
        rule.path = try nodes.scalar(value, key)
        guard rule.path.isAbsolutePath, rule.path.utf8.count <= 1024 else {
          throw nodes.error(
            value, "path is \(nodes.shown(rule.path)); it is a pattern that starts with '/', such as /videos/**")
        }
      case "method": rule.method = try nodes.scalar(value, key)
      case "probability": rule.probability = try nodes.share(value, key)
      default: try action(key, value, &rule.reply)
      }
    }
    (rule.from, rule.until, rule.every) = try turns.checked(node, nodes)
    return rule
  }

  private func connection(_ node: Node) throws(YAMLFileError) -> FaultScript.ConnectionRule {
    var turns = Turns()
    var actions: [FaultScript.ConnectionRule.Action] = []
    for (key, value) in try nodes.pairs(node, "a connection", known: Turns.keys + ["certificate", "accept"]) {
      if try turns.read(key, value, nodes) { continue }
      if key == "certificate" {
        actions.append(.certificate(try nodes.choice(value, key, CertificateFault.self)))
      } else {
        actions.append(try nodes.choice(value, key, AcceptWord.self) == .reset ? .reset : .silence)
      }
    }
    guard actions.count == 1 else { throw nodes.error(node, "a connection has one of certificate and accept") }
    var rule = FaultScript.ConnectionRule(actions[0])
    (rule.from, rule.until, rule.every) = try turns.checked(node, nodes)
    return rule
  }

  private enum AcceptWord: String, CaseIterable { case reset, silence }

  private func action(_ key: String, _ node: Node, _ reply: inout Reply) throws(YAMLFileError) {
    switch key {
    case "status": reply.status = try nodes.integer(node, key, 100...999)
    case "reason": reply.reason = try nodes.scalar(node, key)
    case "headers":
      for (name, value) in try nodes.pairs(node, key, naming: "its keys are names of fields") {
        reply.setHeaders.append(HeaderField(name, try nodes.scalar(value, name)))
      }
    case "remove": reply.removedHeaders = try nodes.texts(node, key)
    case "rawHeaders": reply.rawHeaderLines = try nodes.texts(node, key).map { Array($0.utf8) }
    case "body": reply.body = try body(node)
    case "raw": reply.raw = Array(try nodes.scalar(node, key).utf8)
    case "garbage":
      let count = try nodes.size(node, key)
      guard count <= 1 << 30 else { throw nodes.error(node, "garbage is at most 1GiB") }
      reply.garbage = count
    case "delay":
      for (name, value) in try nodes.pairs(node, key, known: ["status", "body", "headByte"]) {
        let time = try nodes.duration(value, "delay.\(name)")
        switch name {
        case "status": reply.timing.beforeStatus = time
        case "body": reply.timing.beforeBody = time
        default: reply.timing.betweenHeadBytes = time
        }
      }
    case "slices":
      var slice = Reply.Timing.Slice(size: 1024, pause: .milliseconds(100))
      for (name, value) in try nodes.pairs(node, key, known: ["size", "pause"]) {
        if name == "size" {
          slice.size = max(try nodes.size(value, "slices.size"), 1)
        } else {
          slice.pause = try nodes.duration(value, "slices.pause")
        }
      }
      reply.timing.slice = slice
    case "rate": reply.timing.bytesPerSecond = max(try nodes.size(node, key), 1)
    case "end": reply.ending = try ending(node)
    case "range": reply.range = try range(node)
    case "entity": reply.entity = try entity(node)
    case "length": reply.length = try length(node)
    case "framing": reply.framing = try framing(node)
    case "gzip": reply.isGzipped = try nodes.choice(node, key, Answer.self) == .yes
    case "redirect": reply.redirect = try redirect(node)
    case "retryAfter": reply.retryAfter = try retryAfter(node)
    case "digest": reply.digest = try nodes.choice(node, key, Reply.DigestFault.self)
    default: reply.flood = try flood(node)
    }
  }

  private enum Answer: String, CaseIterable {
    case yes = "true"
    case no = "false"
  }
  private enum RangeWord: String, CaseIterable {
    case ignored, ignoredWithIfRange, ignoredWithConditions, multipart, unasked, refused, refusedWithoutLength
  }
  private enum LengthWord: String, CaseIterable { case twice, contradicting, withChunked }
  private enum FramingWord: String, CaseIterable { case chunked, untilClose, withoutLastChunk, badChunkSize }
  private enum RedirectWord: String, CaseIterable { case loop }
  private enum FloodWord: String, CaseIterable { case endless }

  private func body(_ node: Node) throws(YAMLFileError) -> Reply.Body {
    guard nodes.isMapping(node) else { return .bytes(Array(try nodes.scalar(node, "body").utf8)) }
    var pattern: String?
    var size: Int?
    var resource: String?
    for (name, value) in try nodes.pairs(node, "body", known: ["repeat", "size", "resource"]) {
      switch name {
      case "repeat": pattern = try nodes.scalar(value, "body.repeat")
      case "size": size = try nodes.size(value, "body.size")
      default: resource = try nodes.scalar(value, "body.resource")
      }
    }
    if let resource, pattern == nil, size == nil { return .resource(resource) }
    guard let pattern, !pattern.isEmpty, let size, resource == nil else {
      throw nodes.error(node, "body is a text, {repeat: TEXT, size: BYTES} or {resource: PATH}")
    }
    return .repeating(Array(pattern.utf8), count: size)
  }

  private func ending(_ node: Node) throws(YAMLFileError) -> Reply.Ending {
    guard nodes.isMapping(node) else { return Reply.Ending(try nodes.choice(node, "end", Reply.Ending.Manner.self)) }
    var ending = Reply.Ending(.close)
    for (name, value) in try nodes.pairs(node, "end", known: ["after", "how"]) {
      if name == "how" {
        ending.manner = try nodes.choice(value, "end.how", Reply.Ending.Manner.self)
      } else if try nodes.scalar(value, "end.after") == "random" {
        ending.position = .random
      } else {
        ending.position = .byte(try nodes.size(value, "end.after"))
      }
    }
    return ending
  }

  private func range(_ node: Node) throws(YAMLFileError) -> Reply.RangeFault {
    guard nodes.isMapping(node) else {
      return switch try nodes.choice(node, "range", RangeWord.self) {
      case .ignored: .ignored
      case .ignoredWithIfRange: .ignoredWithIfRange
      case .ignoredWithConditions: .ignoredWithConditions
      case .multipart: .multipart
      case .unasked: .unasked(nil)
      case .refused: .refused(contentRange: true)
      case .refusedWithoutLength: .refused(contentRange: false)
      }
    }
    var offsets = ["start": 0, "end": 0, "total": 0]
    for (name, value) in try nodes.pairs(node, "range", known: ["start", "end", "total"]) {
      offsets[name] = try nodes.integer(value, "range.\(name)", -Self.maxNumber...Self.maxNumber)
    }
    return .shifted(start: offsets["start"] ?? 0, end: offsets["end"] ?? 0, total: offsets["total"] ?? 0)
  }

  private func entity(_ node: Node) throws(YAMLFileError) -> Reply.EntityFault {
    var fault = Reply.EntityFault(version: 2)
    for (name, value) in try nodes.pairs(node, "entity", known: ["version", "length", "etag"]) {
      switch name {
      case "version": fault.version = try nodes.integer(value, "entity.version", 1...Self.maxNumber)
      case "length": fault.lengthChange = try nodes.integer(value, "entity.length", -Self.maxNumber...Self.maxNumber)
      default: fault.tag = try nodes.choice(value, "entity.etag", Reply.EntityFault.Tag.self)
      }
    }
    return fault
  }

  private func length(_ node: Node) throws(YAMLFileError) -> Reply.LengthFault {
    guard nodes.isMapping(node) else {
      return switch try nodes.choice(node, "length", LengthWord.self) {
      case .twice: .twice
      case .contradicting: .contradicting
      case .withChunked: .withChunked
      }
    }
    return .off(
      by: try only("by", node, "length") { node throws(YAMLFileError) in
        try nodes.integer(node, "length.by", -Self.maxNumber...Self.maxNumber)
      })
  }

  private func framing(_ node: Node) throws(YAMLFileError) -> Reply.Framing {
    guard nodes.isMapping(node) else {
      return switch try nodes.choice(node, "framing", FramingWord.self) {
      case .chunked: .chunked
      case .untilClose: .untilClose
      case .withoutLastChunk: .withoutLastChunk
      case .badChunkSize: .badChunkSize
      }
    }
    return .giantExtension(
      try only("extension", node, "framing") { node throws(YAMLFileError) in
        try nodes.size(node, "framing.extension")
      })
  }

  private func redirect(_ node: Node) throws(YAMLFileError) -> Reply.Redirect {
    guard nodes.isMapping(node) else {
      _ = try nodes.choice(node, "redirect", RedirectWord.self)
      return .loop
    }
    var target: String?
    var hops: Int?
    var status: Int?
    for (name, value) in try nodes.pairs(node, "redirect", known: ["to", "status", "hops"]) {
      switch name {
      case "to": target = try nodes.scalar(value, "redirect.to")
      case "status": status = try nodes.integer(value, "redirect.status", 300...399)
      default: hops = try nodes.integer(value, "redirect.hops", 1...10_000)
      }
    }
    if let target, hops == nil { return .to(target, status: status ?? 302) }
    guard target == nil, status == nil, let hops else {
      throw nodes.error(node, "redirect is loop, {to: URL, status: 302} or {hops: NUMBER}")
    }
    return .hops(hops)
  }

  private func retryAfter(_ node: Node) throws(YAMLFileError) -> Reply.RetryAfter {
    guard nodes.isMapping(node) else {
      let text = try nodes.scalar(node, "retryAfter")
      return Int(text).map { .seconds($0) } ?? .text(text)
    }
    return .date(
      try only("date", node, "retryAfter") { node throws(YAMLFileError) in
        try nodes.integer(node, "retryAfter.date", -Self.maxNumber...Self.maxNumber)
      })
  }

  private func flood(_ node: Node) throws(YAMLFileError) -> Reply.HeaderFlood {
    guard nodes.isMapping(node) else {
      _ = try nodes.choice(node, "flood", FloodWord.self)
      return .endless
    }
    let pairs = try nodes.pairs(node, "flood", known: ["fields", "size"])
    guard pairs.count == 1 else { throw nodes.error(node, "flood is endless, {fields: NUMBER} or {size: BYTES}") }
    return pairs[0].0 == "fields"
      ? .many(try nodes.integer(pairs[0].1, "flood.fields", 1...1_000_000))
      : .huge(try nodes.size(pairs[0].1, "flood.size"))
  }

  /// The value of a mapping's one key.
  private func only(
    _ key: String, _ node: Node, _ what: String, _ read: (Node) throws(YAMLFileError) -> Int
  ) throws(YAMLFileError) -> Int {
    guard let (_, value) = try nodes.pairs(node, what, known: [key]).first else {
      throw nodes.error(node, "\(what) needs the key \(key)")
    }
    return try read(value)
  }
}

/// Which of many: on, from, until, every.
private struct Turns {
  static let keys = ["on", "from", "until", "every"]
  private var numbers: [String: Int] = [:]

  /// Whether the key is one of these.
  mutating func read(_ key: String, _ node: Node, _ nodes: YAMLNodes) throws(YAMLFileError) -> Bool {
    guard Self.keys.contains(key) else { return false }
    numbers[key] = try nodes.integer(node, key, 1...1_000_000_000)
    return true
  }

  /// Without `from`, every third is the third, the sixth and so on.
  func checked(_ node: Node, _ nodes: YAMLNodes) throws(YAMLFileError) -> (from: Int, until: Int?, every: Int) {
    if let on = numbers["on"] {
      guard numbers.count == 1 else {
        throw nodes.error(node, "'on' is one of many; it doesn't go with from, until or every")
      }
      return (on, on, 1)
    }
    let every = numbers["every"] ?? 1
    let from = numbers["from"] ?? every
    if let until = numbers["until"], until < from {
      throw nodes.error(node, "this never holds: until \(until) comes before \(from)")
    }
    return (from, numbers["until"], every)
  }
}
