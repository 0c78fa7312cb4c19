internal import Basics
internal import Hashing
internal import LinuxSystem

/// Where the files of one command go, as its options say it.
struct FetchPlace: Equatable {
  var directory: String
  /// For messages.
  var option: String
  /// nil: the URL says it.
  var name: String?
  /// The file is only there until standard output has it.
  var isForOutput = false

  /// `requests`: what is said to the server beside the URL, which may decide what it answers.
  init(_ options: FetchPlaceOptions, firstURL: String?, _ requests: FetchRequestOptions) throws {
    let to = options.to ?? "."
    option = "--to \(to)"
    switch options.output {
    case nil: directory = try FetchPath.absolute(to, option)
    case "-":
      // Named by what it is asked for, so that the same command finds it again, and no other does.
      directory = Self.outputs(try FetchState.directory(options.state))
      name = Self.name(of: [firstURL ?? ""] + requests.saidToServers)
      option = "--output -"
      isForOutput = true
    case let output?:
      guard let slash = output.utf8.lastIndex(of: UInt8(ascii: "/")) else {
        directory = try FetchPath.absolute(to, option)
        name = output
        break
      }
      option = "--output \(output)"
      let folder = output[...slash]
      name = String(output[output.index(after: slash)...])
      directory = try FetchPath.absolute(folder.isAbsolutePath ? String(folder) : "\(to)/\(folder)", option)
    }
  }

  /// Where files are until standard output has them.
  static func outputs(_ state: String) -> String { "\(state)/output" }

  private static func name(of parts: [String]) -> String {
    var hash = RunningHash(.sha256)
    for part in parts {
      // An argument has no zero byte: no two lists give the same bytes.
      Array("\(part)\0".utf8).withUnsafeBytes { hash.update($0) }
    }
    return Hexadecimal.text(hash.digest.prefix(16))
  }
}
