internal import AssetModel
internal import Basics
internal import CLinux
internal import LinuxSystem
internal import Sandbox

/// Reports each answered call to the trace, where one is wanted.
extension SystemCallSupervisor {
  /// Before the answer: the thread still waits, and its memory is what it was.
  func trace(_ call: ol_notification, _ decision: NotificationPolicy.Decision, _ denial: RunReport.Denial?) {
    guard let trace = plan.options.trace else { return }
    let verdict: SystemCallTrace.Verdict
    switch decision {
    case .hold, .look, .count: return
    case .proceed: verdict = .passed
    case .note: verdict = denial == nil ? .passed : .refused(wall: "files")
    case .grant: verdict = .granted
    case .foreign: verdict = .ended(wall: "seccomp")
    case .breach(_, _, let code, let kills):
      verdict = kills ? .ended(wall: "seccomp") : .denied(wall: "seccomp", error: SystemCallText.error(code))
    case .deny(let wall, _, _, let code, let kills):
      verdict = kills ? .ended(wall: wall) : .denied(wall: wall, error: SystemCallText.error(code))
    }
    let foreign = CallArchitecture.foreignName(call.architecture, number: call.number)
    let name =
      foreign.map { "\($0) call \(call.number)" } ?? SystemCalls.name(of: call.number) ?? "syscall \(call.number)"
    let paths =
      foreign != nil ? [] : name == "execve" ? [SystemCalls.PathArgument(path: 0)] : SystemCalls.pathArguments(of: name)
    let reader = named(by: call)
    var texts: [Int: String?] = [:]
    var named: [String] = []
    for argument in paths {
      guard let place = argument.path else { continue }
      let path = reader.given(argument)
      texts[place] = path.map(Self.cut)
      if let path { named.append(path) }
    }
    var arguments = foreign == nil ? SystemCallText.arguments(of: name, reader.values, paths: texts) : []
    if name == "mmap", let file = reader.codeFile, !arguments.isEmpty {
      arguments[arguments.count - 1] += "<\(Self.cut(file).escaping("\\".unicodeScalars))>"
      named.append(file)
    }
    var event = SystemCallTrace.Event(
      time: BootClock.now - began, thread: call.pid, name: name, arguments: arguments, paths: named,
      verdict: verdict,
      denial: denial, grant: verdict == .passed ? grant(name, paths, reader) : nil,
      mayHaveChanged: !paths.isEmpty && hasThreads)
    if verdict == .passed, name == "connect", let network = plan.network, let attempt = reader.connection {
      event.lead(to: attempt, network)
      event.mayHaveChanged = hasThreads
    }
    trace.receive(event)
  }

  private static func cut(_ path: String) -> String {
    let shown = path.unicodeScalars.prefix(200)
    return shown.endIndex == path.endIndex ? path : String(shown) + "…"
  }

  /// Of several paths the first that the policy grants.
  private func grant(
    _ name: String, _ arguments: [SystemCalls.PathArgument], _ reader: NotifiedPaths
  ) -> SystemCallTrace.Grant? {
    let code = name == "mmap" ? reader.codeFile : nil
    let places =
      arguments.compactMap { reader.holder(name, $0) }
      + [code.flatMap { reader.view.holder(of: $0, followsLast: true) }].compactMap(\.self)
    let path = places.lazy.compactMap { [plan] place in plan.grants.first { $0.place == place }?.line }.first
    if let path { return .path(path) }
    if plan.policy.devices.count < PolicyDevice.allCases.count,
      let device = plan.policy.devices.first(where: { device in
        arguments.contains { reader.given($0) == device.path }
      })
    {
      return .device(device)
    }
    return plan.policy.grant(of: name, reader.values, isLoading: run?.isLoading ?? false)
  }
}

extension SystemCallTrace.Event {
  /// A connect(2) that the kernel carries out in the run's own network.
  mutating func lead(to attempt: ConnectionAttempt, _ network: NetworkPlan) {
    let target: String
    switch network.connection(to: attempt.address, port: attempt.port) {
    case .listed(let endpoint):
      target = endpoint.text
      grant = .connection(endpoint)
    case .pair:
      target = "its own process"
      grant = .network
    case .question: target = "its host, for a name"
    case .refused(let text):
      target = text ?? network.text(of: attempt.address, port: attempt.port)
      verdict = .refused(wall: "network")
      denial = text.map { RunReport.Denial(wall: "network", operation: "connect", target: $0, count: 1) }
    }
    arguments.append(target)
  }
}
