internal import AssetModel
internal import Foundation
internal import ServiceProtocol

/// `outrider explain ID` of what the service has.
enum ServiceExplanation {
  static func print(_ subject: String, _ place: ServicePlace, isJSON: Bool) async throws {
    let reply = try await ServiceOperator.connect(place).ask(.explain(subject: subject))
    guard case .explanation(let explanation) = reply else { throw ServiceOperator.unexpected(reply) }
    if isJSON { try Output.json(explanation) } else { for line in lines(explanation) { Output.line(line) } }
  }

  static func lines(_ explanation: ExplanationSummary, now: Date = Date()) -> [String] {
    var lines = [
      "\(Printable.text(explanation.kind, limit: 20)) \(Printable.text(explanation.subject)): "
        + Printable.text(explanation.message, limit: 1000)
    ]
    lines.append("  code: \(Printable.text(explanation.code))")
    for (key, value) in explanation.data.sorted(by: { $0.key < $1.key }) {
      lines.append("  \(Printable.text(key)): \(Printable.text(value))")
    }
    for (name, time) in [("since", explanation.since), ("until", explanation.until)] {
      guard let time else { continue }
      let relative = ServiceWords.relative(time, now: now)
      lines.append("  \(name): \(Printable.text(ServiceWords.time(time), limit: 40)) (\(Printable.text(relative)))")
    }
    lines.append("  what ends it: \(Printable.text(explanation.remedy, limit: 1000))")
    return lines
  }
}
