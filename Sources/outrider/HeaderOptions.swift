internal import ArgumentParser
internal import PluginHost
internal import PolicyLab

/// How the headers of a library are read.
struct HeaderOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "A folder where headers are looked for before the system's; may be repeated.", valueName: "folder"),
    completion: .directory)
  var include: [String] = []
  @Option(help: ArgumentHelp("A macro: NAME or NAME=VALUE; may be repeated.", valueName: "name=value"))
  var define: [String] = []

  /// The first of them that was given.
  var given: String? { include.isEmpty ? define.isEmpty ? nil : "--define" : "--include" }

  /// `option`: of the command, for a header that has to be read before.
  func read(_ headers: [String], before option: String, _ host: PluginHost) async throws -> HeaderDescription {
    do throws(HeaderReader.Failure) {
      return try await HeaderReader(host).read(
        HeaderRequest(headers: headers, includes: include, defines: define), before: option)
    } catch {
      throw Failure(error.exitStatus, error.description)
    }
  }
}
