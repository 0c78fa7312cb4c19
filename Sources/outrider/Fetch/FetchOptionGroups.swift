internal import ArgumentParser
internal import AssetModel
internal import Basics

/// Where files go, and what becomes of those that are there.
struct FetchPlaceOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The directory that files go to; made, with those above it, where it is missing (default: .).", valueName: "dir"),
    completion: .directory)
  var to: String?
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "The file, for one URL: a name in --to, a path, or - for standard output, which gets it when all of it is there.",
      valueName: "file"), completion: .file())
  var output: String?
  @Flag(help: "Fetch again what is there already, and replace it when the new file is complete.") var force = false
  @Flag(
    help: "Ask the server whether what was fetched before has changed, and replace it only then.") var ifChanged = false
  @Flag(help: "Give a file the name that its server says (Content-Disposition), made safe.") var contentDisposition =
    false
  @Option(
    help: ArgumentHelp("Where the journal is kept (default: $XDG_STATE_HOME/outrider/fetch).", valueName: "dir"),
    completion: .directory)
  var state: String?
  @Flag(help: "A damaged journal is renamed and kept; its last backup, or an empty one, takes its place.")
  var startFresh =
    false

  /// NAME_MAX of limits.h: what filesystems take.
  private static let longestName = 255

  /// What is done about a file that is there already.
  var mode: FetchMode { force ? .force : ifChanged ? .ifChanged : .keep }

  func validate() throws {
    if let output {
      let parts = output.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      let name = parts.last.map { String(decoding: $0, as: UTF8.self) } ?? ""
      if ["", ".", ".."].contains(name) { throw ValidationError("--output names no file.") }
      if name.utf8.count > Self.longestName {
        throw ValidationError(
          "--output: the name of the file has \(name.utf8.count) bytes, and at most \(Self.longestName) do; shorten it."
        )
      }
      if output.utf8.first == UInt8(ascii: "/"), to != nil {
        throw ValidationError("--output is an absolute path; leave --to out.")
      }
      if output == "-", to != nil || force || ifChanged {
        throw ValidationError("--output - makes no file; leave --to, --force and --if-changed out.")
      }
      if contentDisposition { throw ValidationError("--output and --content-disposition both name the file.") }
    }
    if force, ifChanged { throw ValidationError("--force and --if-changed contradict each other.") }
    if state?.isEmpty == true { throw ValidationError("--state names no folder.") }
    if to?.isEmpty == true { throw ValidationError("--to names no directory.") }
  }
}

/// What fetched files are checked against.
struct FetchCheckOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The SHA-256 of the file; for one URL.", valueName: "hex")) var sha256: [String] = []
  @Option(
    help: ArgumentHelp(
      "Checksums as sha256sum(1) prints them, with or without --tag or --zero; - reads standard input. Each fetched file must be listed by its name and match.",
      valueName: "file"),
    completion: .file())
  var checksums: String?
  @Option(
    help: ArgumentHelp(
      "The chunk list of the file, as `outrider digest` prints it; for one URL.", valueName: "file"),
    completion: .file())
  var chunks: [String] = []
  @Option(
    help: ArgumentHelp(
      "Another URL of the same file; --chunks detects wrong bytes from it. May be given several times.",
      valueName: "URL"))
  var mirror: [String] = []

  func validate() throws {
    if sha256.count > 1 || chunks.count > 1 { throw ValidationError("--sha256 and --chunks are given once.") }
    if !sha256.isEmpty, checksums != nil {
      throw ValidationError("--sha256 and --checksums both say what the file has to be; leave one out.")
    }
    if !mirror.isEmpty, chunks.isEmpty {
      throw ValidationError("--mirror goes with --chunks, which says whose bytes are right.")
    }
    if mirror.count > DownloadSpecification.maxMirrors {
      throw ValidationError("At most \(DownloadSpecification.maxMirrors) mirrors are asked.")
    }
  }
}

/// What is said to servers, and which are believed.
struct FetchRequestOptions: ParsableArguments {
  @Option(
    name: [.customShort("H"), .long],
    help: ArgumentHelp(
      "A field of each request, NAME: VALUE; may be given several times. Redirects to other servers don't get it.",
      valueName: "field"))
  var header: [String] = []
  @Option(help: ArgumentHelp("What the program calls itself.", valueName: "text")) var userAgent: String?
  @Option(
    help: ArgumentHelp("NAME:PASSWORD for those of the named servers that ask.", valueName: "credential")) var user:
    String?
  @Option(
    help: ArgumentHelp(
      "A file whose one line is the token (Bearer) for those of the named servers that ask for one.",
      valueName: "file"), completion: .file())
  var tokenFile: String?
  @Option(
    help: ArgumentHelp(
      "A client certificate (PEM) for those of the named servers that ask for one; its issuers may follow it.",
      valueName: "file"), completion: .file())
  var cert: String?
  @Option(
    help: ArgumentHelp(
      "Its private key (PEM, no passphrase), if it isn't in the same file.", valueName: "file"), completion: .file())
  var key: String?
  @Option(
    help: ArgumentHelp(
      "A PEM file with further certificate authorities; without it, that of the environment's SSL_CERT_FILE.",
      valueName: "file"), completion: .file())
  var cacert: String?
  @Flag(help: "Addresses of private networks may be reached, too.") var allowPrivate = false

  /// What may decide which bytes come.
  var saidToServers: [String] {
    let named = [("agent", userAgent), ("user", user), ("token", tokenFile), ("cert", cert)]
    return header.map { "header \($0)" } + named.compactMap { name, value in value.map { "\(name) \($0)" } }
  }

  func validate() throws {
    if key != nil, cert == nil { throw ValidationError("--key goes with --cert.") }
  }
}

/// How fast, how long and how often.
struct FetchPaceOptions: ParsableArguments {
  @Flag(help: "A person waits for it: more connections, short waits, and a failure after a few attempts.")
  var foreground = false
  @Option(help: ArgumentHelp("Bytes per second in all, for example 2MB.", valueName: "rate")) var limitRate: String?
  @Option(
    help: ArgumentHelp(
      "Attempts after the first that bring nothing, one after the other, before a download fails (default: 5 with "
        + "--foreground, otherwise as many as two weeks take).", valueName: "count"))
  var retry: Int?
  @Option(
    help: ArgumentHelp(
      "Stop after that time, for example 90s or 10m; the same command goes on.", valueName: "time"))
  var maxTime: String?
  @Option(
    help: ArgumentHelp("How long connecting may take, with TLS (default: 30s).", valueName: "time"))
  var connectTimeout: String?

  func validate() throws {
    if let retry, !(0...Self.maxRetries).contains(retry) {
      throw ValidationError("--retry takes a number from 0 to \(Self.maxRetries).")
    }
    for (option, text) in [("--max-time", maxTime), ("--connect-timeout", connectTimeout)] {
      guard let text else { continue }
      guard let time = Quantity.duration(text), (.milliseconds(1)...Self.longest).contains(time) else {
        throw ValidationError("\(option) '\(text)' isn't a time from 1ms to 720h, for example 90s.")
      }
    }
  }

  var limit: Duration? { maxTime.flatMap(Quantity.duration) }
  var connectLimit: Duration? { connectTimeout.flatMap(Quantity.duration) }

  private static let maxRetries = 1000
  private static let longest: Duration = .seconds(720 * 3600)
}

/// What is said of it.
struct FetchOutputOptions: ParsableArguments {
  @Flag(name: .shortAndLong, help: "Show the heads of requests and answers on standard error, without secrets.")
  var verbose = false
  @Flag(name: .shortAndLong, help: "Nothing on standard error but errors.") var quiet = false
  @Flag(help: "Print one JSON object a line as things happen; the last one has all downloads.") var json = false

  func validate() throws {
    if verbose, quiet { throw ValidationError("--verbose and --quiet contradict each other.") }
  }
}
