internal import AssetModel
internal import Basics
internal import Foundation
internal import HostProtocol
internal import PluginHost

extension Expectation {
  /// What was seen instead; nil: it holds.
  package func mismatch(with observed: Observed) -> String? {
    switch condition {
    case .returned(let value):
      guard observed.outcome.kind == .returned else { return observed.endingWithRemedy }
      guard let value else { return nil }
      guard let shown = observed.value else { return "returned nothing" }
      return Returned(shown: shown, text: observed.text).mismatch(with: value)
    case .outcome(let kind): return observed.outcome.kind == kind ? nil : observed.endingWithRemedy
    case .noDenials: return Self.denied(observed.refusals, observed)
    case .denyConnection(let target):
      let isThere = observed.denials.contains { $0.wall == "network" && $0.target.isExactly(target) }
      return isThere ? nil : observed.whatWasDenied
    case .deniedBy(let wall):
      return observed.denials.contains { $0.wall == wall } ? nil : observed.whatWasDenied
    case .deny(let call, let path):
      let isThere = observed.denials.contains { denial in
        (call == nil || denial.call == call) && (path.map { denial.names($0, observed) } ?? true)
      }
      return isThere ? nil : observed.whatWasDenied
    case .denyAccess(let access, let path):
      return observed.denials.contains { access.covers($0, path, observed) } ? nil : observed.whatWasDenied
    case .allowAccess(let access, let path):
      return Self.denied(observed.denials.filter { access.covers($0, path, observed) }, observed)
    case .allow(let path):
      return Self.denied(observed.denials.filter { $0.names(path, observed) }, observed)
    case .atMost(let meter, let bound, let isStrict):
      let (value, text): (Double, String) =
        switch meter {
        case .memory: (Double(observed.memoryBytes), "\(observed.memoryBytes >> 10) KiB")
        case .wall: (observed.wallSeconds, LimitValues.milliseconds(observed.wallSeconds))
        case .cpu: (observed.cpuSeconds, LimitValues.milliseconds(observed.cpuSeconds))
        }
      return (isStrict ? value < bound : value <= bound) ? nil : "took \(text)"
    case .log(let text): return observed.log.contains { $0.contains(text) } ? nil : "the log has no such line"
    case .output(let wanted):
      guard !observed.outputs.isEmpty else {
        return "nothing was written: the signature has no out(N), or it didn't return"
      }
      let isThere = observed.outputs.contains { bytes in
        wanted == "hex:" + Hexadecimal.text(bytes)
          || wanted == String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      return isThere
        ? nil
        : "wrote hex:\(observed.outputs.map { Hexadecimal.text(Array($0.prefix(64))) }.joined(separator: ", hex:"))"
    }
  }
}

extension Expectation {
  /// Of what mustn't have been denied. Denials that weren't kept may be of it, too: a plugin can have as many as it likes.
  private static func denied(_ found: [Observed.Denial], _ observed: Observed) -> String? {
    guard found.isEmpty else { return Observed.listWithRemedies(found) }
    return observed.droppedDenials == 0
      ? nil : "it can't be told: \(observed.droppedDenials) more denials than a report keeps"
  }
}

extension Observed.Denial {
  fileprivate func names(_ path: String, _ observed: Observed) -> Bool {
    places.contains { $0.isExactly(path) } || mayBe(of: path, observed)
  }

  /// Of what would have been written in the runtime only the folder is reported: it may have been `path`.
  fileprivate func mayBe(of path: String, _ observed: Observed) -> Bool {
    wall == "files" && writes && RunnerView.runtime.contains(target) && observed.leading(path).lies(in: target)
  }
}

extension Expectation.Access {
  private static let executing: Set<String> = ["execve", "execveat", "mmap"]
  private static let opening: Set<String> = ["open", "openat"]

  /// Whether a denial is of this access to a path, or to what lies in it.
  func covers(_ denial: Observed.Denial, _ path: String, _ observed: Observed) -> Bool {
    guard denial.places.contains(where: { $0.lies(in: path) }) || denial.mayBe(of: path, observed) else { return false }
    return switch self {
    case .read: (!denial.writes || denial.readsToo) && !Self.executing.contains(denial.call)
    case .write: denial.writes
    case .execute: Self.executing.contains(denial.call) || denial.asksToExecute || Self.isOfLibrary(denial)
    }
  }

  /// A library that can't even be opened isn't executed either, and nothing asks to. It is known by its name: `x.so`, `x.so.6`.
  private static func isOfLibrary(_ denial: Observed.Denial) -> Bool {
    guard !denial.writes, opening.contains(denial.call) else { return false }
    return denial.places.contains { place in
      let name = place.pathNames.last ?? ""
      return name.hasSuffix(".so") || name.contains(".so.")
    }
  }
}
