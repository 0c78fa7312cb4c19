internal import AssetModel
internal import Foundation
internal import PluginHost

extension Expectation {
  /// What was seen instead; nil: it holds.
  package func objection(to observed: Observed) -> String? {
    switch condition {
    case .returned(let value):
      guard observed.outcome.kind == .returned else { return ending(observed) }
      return value == nil || value == observed.value ? nil : "returned \(observed.value ?? "nothing")"
    case .outcome(let kind): return observed.outcome.kind == kind ? nil : ending(observed)
    case .noDenials: return observed.denials.isEmpty ? nil : "denied \(list(observed.denials))"
    case .deniedBy(let wall):
      return observed.denials.contains { $0.wall == wall } ? nil : denied(observed)
    case .deny(let call, let path):
      let isThere = observed.denials.contains { denial in
        (call == nil || denial.call == call) && (path == nil || denial.target == path)
      }
      return isThere ? nil : denied(observed)
    case .allow(let path):
      let found = observed.denials.filter { $0.target == path }
      return found.isEmpty ? nil : "denied \(list(found))"
    case .atMost(let meter, let bound, let isStrict):
      let (value, text): (Double, String) =
        switch meter {
        case .memory: (Double(observed.memoryBytes), "\(observed.memoryBytes >> 10) KiB")
        case .wall: (observed.wallSeconds, time(observed.wallSeconds))
        case .cpu: (observed.cpuSeconds, time(observed.cpuSeconds))
        }
      return (isStrict ? value < bound : value <= bound) ? nil : "took \(text)"
    case .log(let text): return observed.log.contains { $0.contains(text) } ? nil : "the log has no such line"
    case .output(let wanted):
      guard !observed.outputs.isEmpty else {
        return "nothing was written: the signature has no out(N), or it didn't return"
      }
      let isThere = observed.outputs.contains { bytes in
        wanted == "hex:" + CallWords.hexadecimal(bytes)
          || wanted == String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      return isThere
        ? nil
        : "wrote hex:\(observed.outputs.map { CallWords.hexadecimal(Array($0.prefix(64))) }.joined(separator: ", hex:"))"
    }
  }

  private func time(_ seconds: Double) -> String { String(format: "%.1f ms", seconds * 1000) }

  private func ending(_ observed: Observed) -> String {
    let detail = observed.outcome.detail
    return observed.outcome.kind.rawValue + (detail.isEmpty ? "" : ": \(detail)")
  }

  private func denied(_ observed: Observed) -> String {
    observed.denials.isEmpty ? "nothing was denied" : "denied only \(list(observed.denials))"
  }

  private func list(_ denials: [Observed.Denial]) -> String {
    let shown = denials.prefix(4).map { Printable.text($0.text, limit: 120) }.joined(separator: ", ")
    return denials.count > 4 ? "\(shown) and \(denials.count - 4) more" : shown
  }
}
