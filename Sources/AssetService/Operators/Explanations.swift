internal import AssetModel
internal import Downloads
internal import Foundation
internal import ServiceMachines
internal import ServiceProtocol

/// Why an app or a download is as it is, for operators.
final class Explanations {
  private let decider: Decider
  private let downloads: DownloadTable
  private let transfers: Transfers
  private let plan: TransferPlan

  init(decider: Decider, downloads: DownloadTable, transfers: Transfers, plan: TransferPlan) {
    self.decider = decider
    self.downloads = downloads
    self.transfers = transfers
    self.plan = plan
  }

  /// `subject`: an app, or a download.
  func explain(_ subject: String) async throws(ServiceFailure) -> ExplanationSummary {
    if let machines = decider.core.apps[subject] { return explain(subject, machines) }
    guard let (app, unique) = try downloads.look(for: subject), let scheduled = downloads[app]?[unique] else {
      throw .command(
        66, "no app and no download is called \(Printable.text(subject))",
        remedy: "'outrider apps' and 'outrider downloads' list them")
    }
    if let failure = scheduled.failure {
      return ExplanationSummary(
        kind: "download", subject: subject, code: "failed",
        data: ["domain": failure.domain, "code": "\(failure.code)"],
        message: failure.message, remedy: failure.remedy ?? "schedule it again")
    }
    if scheduled.isUndelivered {
      return ExplanationSummary(
        kind: "download", subject: subject, code: "undelivered", data: ["path": plan.path(of: scheduled.value)],
        message: "three recipients in a row ended while they were told of its file, which is kept until space is short",
        remedy: "outrider runs \(app) shows how the extension ended; mend it, and have it schedule the download again")
    }
    if let start = decider.core.apps[app]?.pace.start(of: unique) {
      return ExplanationSummary(
        kind: "download", subject: subject, code: Explanation.Code.retrying.rawValue, data: [:],
        message: "its extension has scheduled it again each time that it failed; it waits for another attempt",
        until: Timestamp.text(wall: decider.clock.wall(of: start)),
        remedy: "outrider runs \(app) and outrider log \(app) show how it failed; mend that")
    }
    let explanation: Explanation?
    do { explanation = try await transfers.explain(.init(app: app, download: unique)) } catch { throw error.failure }
    guard let explanation else {
      return ExplanationSummary(
        kind: "download", subject: subject, code: "queued", data: [:], message: "it waits for its turn",
        remedy: "nothing has to be done")
    }
    if explanation.code == .finished {
      return ExplanationSummary(
        kind: "download", subject: subject, code: explanation.code.rawValue,
        data: ["path": plan.path(of: scheduled.value)],
        message: "it is complete, and waits for the app or its extension to take it",
        remedy: remedyOfDelivery(to: app))
    }
    func moment(_ seconds: Double?) -> String? { seconds.map { Timestamp.text(Date(timeIntervalSinceNow: $0)) } }
    return ExplanationSummary(
      kind: "download", subject: subject, code: explanation.code.rawValue, data: explanation.data,
      message: Words.waiting(explanation.code), since: moment(explanation.since.map { -$0 }),
      until: moment(explanation.endsIn),
      remedy: setting(of: explanation.code).map {
        "outrider settings set \($0) default, or outrider downloads promote \(subject)"
      }
        ?? explanation.remedy)
  }

  /// What holds it is what an operator has set, and so nothing that the machine does ends it.
  private func setting(of code: Explanation.Code) -> String? {
    let settings = decider.core.settings
    return switch code {
    case .metered where settings.isMetered == true: "isMetered"
    case .powerSaver where settings.isLowPower == true: "isLowPower"
    default: nil
    }
  }

  private func remedyOfDelivery(to app: String) -> String {
    if decider.core.conditions.isLowPower, decider.core.apps[app]?.lifecycle.running == 0 {
      return "launch the app, or let its extension run: "
        + Words.remedy(.lowPower, for: app, decider.core.settings)
    }
    return "nothing has to be done; outrider apps \(app) says when the extension runs next"
  }

  /// The download for which the gate stays closed, and what that waits for itself; nil: none waits for anything but its turn.
  private func holdsGate(_ app: String, _ machines: AppMachines) -> (String, Explanation)? {
    guard !machines.lifecycle.isPaused, let active = machines.lifecycle.active else { return nil }
    let holding: [String] =
      switch active.stage {
      case .manifest: machines.manifests[active.generation].map { [$0] } ?? []
      case .essentials: Array(active.essentials)
      case .wake, .answer, .placing: []
      }
    let waiting = holding.compactMap { unique -> (String, Explanation)? in
      guard let scheduled = downloads[app]?[unique], scheduled.entry?.state != .downloading else { return nil }
      let transfer = scheduled.transfer
      let remaining = (transfer.total ?? scheduled.value.fileSize).map { $0 - transfer.received }
      guard let wait = transfer.waiting?.explanation(remaining: remaining), wait.code != .queued else { return nil }
      return (scheduled.value.identifier, wait)
    }
    return waiting.min { $0.0 < $1.0 }
  }

  private func explain(_ app: String, _ machines: AppMachines) -> ExplanationSummary {
    func time(_ instant: Instant?) -> String? { instant.map { Timestamp.text(wall: decider.clock.wall(of: $0)) } }
    let gate = machines.lifecycle.gate
    if machines.lifecycle.phase == .removing {
      return ExplanationSummary(
        kind: "app", subject: app, code: "removing", data: ["downloads": "\(downloads[app]?.count ?? 0)"],
        message: Words.gate(gate.reason), since: time(gate.since),
        remedy: "nothing has to be done: its downloads are ended one after the other")
    }
    if gate.isClosed {
      let stage = machines.lifecycle.active?.stage
      if let (name, wait) = holdsGate(app, machines) {
        return ExplanationSummary(
          kind: "app", subject: app, code: wait.code.rawValue, data: wait.data.merging(["download": name]) { $1 },
          message: "\(Words.stage(stage)): \(name) waits (\(wait.code.rawValue))", since: time(gate.since),
          until: time(machines.lifecycle.active?.deadline), remedy: Words.remedy(wait))
      }
      return ExplanationSummary(
        kind: "app", subject: app, code: machines.lifecycle.isPaused ? "paused" : stage?.rawValue ?? "installing",
        data: ["essentials": "\(machines.lifecycle.active?.essentials.count ?? 0)"],
        message: machines.lifecycle.isPaused
          ? "its \(machines.lifecycle.phase == .updating ? "update" : "installation") is paused" : Words.stage(stage),
        since: time(gate.since),
        until: time(machines.lifecycle.active?.deadline),
        remedy: machines.lifecycle.isPaused
          ? "outrider installation resume \(app)" : "nothing has to be done: the gate opens at the latest then")
    }
    if let refusal = decider.core.planner.standingRefusal(app, now: decider.clock.now) {
      return ExplanationSummary(
        kind: "wake", subject: app, code: refusal.reason.rawValue, data: [:], message: Words.refusal(refusal.reason),
        until: time(refusal.until), remedy: Words.remedy(refusal.reason, for: app, decider.core.settings))
    }
    return ExplanationSummary(
      kind: "app", subject: app, code: machines.lifecycle.phase.rawValue, data: [:], message: Words.gate(gate.reason),
      since: time(gate.since), remedy: "outrider launch \(app)")
  }
}
