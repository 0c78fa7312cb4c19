package import PluginHost
package import Sandbox

/// The lines of a policy of version 2 that decide about system calls.
extension Policy {
  /// By which it lets a call through; nil: it has none for that.
  package func line(for grant: SystemCallTrace.Grant) -> String? {
    switch grant {
    case .path(let path): return line(granting: path)
    case .device: return "devices: [\(devices.map(\.rawValue).sorted().joined(separator: ", "))]"
    case .connection(let endpoint): return Self.networkLine([endpoint])
    case .network: return !network.isEmpty ? Self.networkLine(network) : socketPairs ? "network: pairs" : nil
    case .processes: return processes > 0 ? "processes: \(processes)" : nil
    case .laterCode:
      if executableMemory != .loading { return "executableMemory: \(executableMemory.rawValue)" }
      // Where files may be executed, the bundle's and the runtime's may be, too.
      return codePaths.first.flatMap(line)
    case .writtenCode: return executableMemory == .justInTime ? "executableMemory: jit" : nil
    }
  }

  /// By which it refuses what others may do; nil: no line of its own does.
  package func line(refusing denial: RunReport.Denial) -> String? {
    if let rule = denial.rule { return rule }
    guard denial.wall == "limits" else { return nil }
    let name =
      switch denial.operation {
      case "mmap": "memory"
      case "clone": "threads"
      case "fallocate", SystemCalls.lengthening: "fileSize"
      case _ where SystemCalls.opening.contains(denial.operation): "openFiles"
      default: ""
      }
    let (own, usual) = (LimitValues.all(limits), LimitValues.all(Limits()))
    guard let limit = own.first(where: { $0.name == name }), !usual.contains(limit) else { return nil }
    return "limits: {\(name): \(limit.written)}"
  }

  private static func networkLine(_ endpoints: [NetworkEndpoint]) -> String {
    "network: [\(endpoints.map { PolicyText.quoted($0.text) }.joined(separator: ", "))]"
  }
}
