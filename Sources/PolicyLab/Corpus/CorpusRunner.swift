internal import AssetModel
internal import HostProtocol
package import PluginHost
package import Sandbox

/// Runs the rows of a corpus, each in a process of its own, under a policy and all walls, or all but some.
package struct CorpusRunner: Sendable {
  package let host: PluginHost
  /// Where the corpus lies.
  package let folder: String
  package var policy = Policy()
  /// What extensions are given as their manifest.
  package let manifest: String
  /// Walls left open, beside the namespaces that the host stays out of.
  package var withoutWalls: Set<Wall> = []

  package static let namespaces: Set<Wall> = [
    .userNamespace, .mountNamespace, .pidNamespace, .networkNamespace, .ipcNamespace, .utsNamespace,
  ]
  /// Walls that can be left open. Without the watchdog nothing would end a behaviour that waits for ever.
  package static let removable = namespaces.union([.landlock, .seccomp, .rlimits, .cgroup, .environment, .descriptors])

  package init(host: PluginHost, folder: String, manifest: String) {
    (self.host, self.folder, self.manifest) = (host, folder, manifest)
  }

  /// `file` is the table. Throws where the host, and not the plugin, is at fault.
  package func run(_ row: Corpus.Row, of file: String) async throws(HostError) -> PolicyTestResult {
    let observed = try await observe(row)
    let words = row.symbol.map { [row.library, $0, row.signature] + row.arguments }
    return PolicyTestResult(
      file: row.source.map { Corpus.path($0.file, of: file) } ?? file, line: row.source?.line ?? row.line,
      name: row.name, call: (words ?? [row.library]).joined(separator: " "),
      observed: observed, lines: row.verdict(on: observed), about: row.sentence, gotThrough: row.gotThrough(observed))
  }

  private func observe(_ row: Corpus.Row) async throws(HostError) -> Observed {
    var options = PluginHost.LoadOptions()
    options.manifest = manifest
    options.isExtension = row.symbol == nil
    options.withoutWalls = withoutWalls.subtracting(Self.namespaces)
    let policy = row.policy(over: policy)
    let arguments = try Self.arguments(row)
    let plugin: Plugin
    do throws(HostError) {
      plugin = try await host.load("\(folder)/\(row.library)", policy: policy, options: options)
    } catch {
      if case .usage(let text) = error, policy.network != self.policy.network {
        // The base has what no policy may have beside hosts: that is no mistake of the row's, and ends no other.
        return Observed(outcome: Outcome(.wallUnavailable, text))
      }
      guard let report = error.report else { throw error }
      return Observed(report, nil as RunnerMessage.CallResult?)
    }
    var verdict: DownloadRules.Verdict?
    var result: RunnerMessage.CallResult?
    var missing: String?
    do throws(HostError) {
      if let symbol = row.symbol {
        result = try await plugin.call(symbol, row.signature, arguments: arguments)
      } else {
        verdict = try await plugin.contentRequest(row.request)
      }
    } catch {
      switch error {
      // What ends a call alone isn't in the report of the run.
      case .entryPointMissing(let text): missing = text
      case .ended: break
      default:
        _ = await plugin.end()
        throw error
      }
    }
    var report = await plugin.end()
    if let missing { report.outcome = Outcome(.entryPointMissing, missing) }
    return row.symbol == nil ? Observed(report, verdict) : Observed(report, result)
  }

  private static func arguments(_ row: Corpus.Row) throws(HostError) -> [CallArgument] {
    guard row.symbol != nil else { return [] }
    let signature: CallSignature
    do { signature = try CallSignature(parsing: row.signature) } catch { throw .usage("\(error)") }
    var arguments: [CallArgument] = []
    for (word, kind) in zip(row.arguments, signature.given) {
      guard let value = try CallWords.argument(word, kind, { _ throws(HostError) in [] }) else {
        throw .usage("the argument '\(word)' of \(row.name) doesn't fit \(kind)")
      }
      arguments.append(value)
    }
    return arguments
  }
}
