internal import AssetModel
internal import Basics
internal import Foundation
internal import HostProtocol
internal import PluginHost
internal import PolicyLab
internal import Sandbox

/// The one object that `--json` prints: what is known of a run, and where its stacks lead.
struct JSONReport: Encodable {
  private let facts: JSONFacts
  private let places: StackPlaces

  init(
    _ report: RunReport, _ places: StackPlaces, policy: Policy, options: SandboxOptions,
    result: RunnerMessage.CallResult? = nil, verdict: DownloadRules.Verdict? = nil
  ) {
    let detail = places.readable(OutcomeAdvice.detail(of: report, policy.limits, options))
    facts = JSONFacts(
      report, Outcome(report.outcome.kind, detail), policy: policy, result: result, verdict: verdict)
    self.places = places
  }

  func encode(to encoder: any Encoder) throws {
    try facts.encode(to: encoder)
    try places.encode(to: encoder)
  }

  func print() throws { try Output.json(self) }
}

/// What is known of a run but for its stacks.
private struct JSONFacts: Encodable {
  var outcome: Outcome
  var plugin: RunReport.LoadedFile?
  var result: JSONValue?
  var resultIsCut: Bool?
  var out: [JSONValue]?
  var downloads: [Item]?
  var rejected: [RejectedDownload]?
  var scheduled: [Item]?
  var statuses: [RunReport.Status]?
  var usage: RunReport.Usage
  var denials: [Denial]
  var connections: [RunReport.Connection]?
  var log: [RunReport.LogLine]
  var droppedLogBytes: Int
  var droppedLogLines: Int
  var droppedDenials: Int
  var sandbox: [String: WallState]
  var meters: [String: String]

  struct Denial: Encodable {
    var denial: RunReport.Denial
    var remedy: Remedy

    func encode(to encoder: any Encoder) throws {
      try denial.encode(to: encoder)
      var container = encoder.container(keyedBy: Key.self)
      try container.encodeIfPresent(remedy.line, forKey: .policy)
      try container.encode(remedy.text, forKey: .remedy)
    }

    /// `policy`: the lines of a policy that would allow it. `remedy`: with what they show, or what else helps.
    private enum Key: String, CodingKey { case policy, remedy }
  }

  struct Item: Encodable {
    var identifier: String
    var url: String
    var fileSize: Int64?
    var essential: Bool
    var priority: Int64
    var applicationGroupIdentifier: String

    init(_ download: Download) {
      identifier = download.identifier
      url = download.url
      fileSize = download.fileSize
      essential = download.isEssential
      priority = download.priority
      applicationGroupIdentifier = download.applicationGroupIdentifier
    }
  }

  init(
    _ report: RunReport, _ outcome: Outcome, policy: Policy, result: RunnerMessage.CallResult?,
    verdict: DownloadRules.Verdict?
  ) {
    self.outcome = outcome
    plugin = report.plugin
    self.result = result.map { JSONValue($0.value) }
    resultIsCut = result.flatMap { $0.value.isCut ? true : nil }
    out = result.map { $0.outputs.map { JSONValue($0) } }
    downloads = verdict.map { $0.accepted.map(Item.init) }
    rejected = verdict?.rejected
    scheduled = verdict.map { _ in report.scheduled.map(Item.init) }
    statuses = verdict.map { _ in report.statuses }
    usage = report.usage
    denials = report.denials.map { Denial(denial: $0, remedy: Remedy(for: $0, under: policy)) }
    connections = report.connections.isEmpty ? nil : report.connections
    log = report.log
    droppedLogBytes = report.droppedLogBytes
    droppedLogLines = report.droppedLogLines
    droppedDenials = report.droppedDenials
    sandbox = Dictionary(uniqueKeysWithValues: report.walls.map { ($0.key.rawValue, $0.value) })
    meters = report.meters
  }
}

/// A value that any JSON reader keeps exactly: integers beyond 2^53 and floats that aren't finite become strings.
enum JSONValue: Encodable {
  case null
  case integer(Int64)
  case number(Double)
  case text(String)
  case list([JSONValue])

  init(_ value: CallValue) {
    let exact: ClosedRange<Int64> = -(1 << 53)...(1 << 53)
    switch value {
    case .void, .cstring(nil), .handle(nil): self = .null
    case .signed(let value): self = exact.contains(value) ? .integer(value) : .text("\(value)")
    case .unsigned(let value): self = value <= 1 << 53 ? .integer(Int64(value)) : .text("\(value)")
    case .single(let value): self = value.isFinite ? .number(Double(value)) : .text("\(value)")
    case .double(let value): self = value.isFinite ? .number(value) : .text("\(value)")
    case .pointer, .bytes, .handle: self = .text(CallWords.text(of: value))
    case .cstring(let bytes?): self = .text(String(decoding: bytes, as: UTF8.self))
    case .structure(let values), .array(let values): self = .list(values.map { JSONValue($0) })
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .integer(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .text(let value): try container.encode(value)
    case .list(let values): try container.encode(values)
    }
  }
}
