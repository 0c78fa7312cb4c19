internal import AssetModel
internal import Basics
internal import Glibc
internal import HostProtocol
internal import PluginHost
internal import Sandbox

/// What is run or mapped as code.
extension Remedy {
  /// Why no run maps a file as code that a plugin may have written.
  static let codeOfPlugins = "it lies in a folder that plugins may write to, and one could map what it wrote as code"

  /// `isFirst`: the plugin may start no process yet.
  static func starting(_ path: String, _ policy: Policy, _ machine: Machine, isFirst: Bool) -> Remedy {
    if isWritten(path, policy) { return writtenCode }
    guard machine.isFolder(path) == false else {
      return Remedy(line: nil, words: "it isn't on this machine either, as a file")
    }
    if machine.isPlugins(path, policy) { return codeIsPlugins }
    return Remedy(
      line: isFirst ? "processes: 1\n\(execution(of: path))" : execution(of: path),
      words: "lets it start that program, which may do what the plugin may")
  }

  private static let codeIsPlugins = Remedy(
    line: nil, words: "no policy grants it as code: \(codeOfPlugins); copy it to a folder of its own")

  private static let writtenCode = Remedy(
    line: nil, words: "what a plugin may write is never code: load what the policy grants to be executed")

  /// Whether the plugin may write what has that path in its view. What of the machine's is granted below /tmp is there in place of
  /// the plugin's own.
  private static func isWritten(_ path: String, _ policy: Policy) -> Bool {
    let access = policy.access(to: path)
    return access == .write
      || access == .none && (RunnerView.own + [RunnerView.containers]).contains { path.lies(in: $0) }
  }

  static func mapping(_ path: String, _ policy: Policy, _ machine: Machine) -> Remedy {
    if isWritten(path, policy) { return writtenCode }
    if machine.isPlugins(path, policy) { return codeIsPlugins }
    return Remedy(line: execution(of: path), words: "lets it map that file's code while it runs")
  }

  /// Of mmap(2)'s protection and flags in hexadecimal: code of a file that isn't written, which a loader maps.
  static func mapsFile(_ words: String) -> Bool {
    let numbers = words.split(separator: ",").map { word in
      let digits = word.drop { $0 == " " }
      return digits.hasPrefix("0x") ? UInt64(digits.dropFirst(2), radix: 16) : nil
    }
    guard numbers.count == 2, let protection = numbers[0], let flags = numbers[1] else { return false }
    return protection & UInt64(PROT_WRITE) == 0 && flags & UInt64(MAP_ANONYMOUS) == 0
  }

  private static func execution(of path: String) -> String { "executableMemory: later\n\(files("execute", path))" }
}
