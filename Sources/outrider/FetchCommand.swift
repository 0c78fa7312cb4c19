internal import ArgumentParser
internal import AssetModel
internal import AssetStore
internal import Downloads
internal import Foundation
internal import Sandbox

struct FetchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fetch",
    abstract: "Downloads files with the engine that serves apps, and resumes what was interrupted.",
    discussion: """
      The file's name is the last part of the URL's path, made safe, or --output; where several URLs have the same, the \
      second becomes a-2.bin, and so on. A file that is there already is never replaced. Plain http works to loopback \
      hosts only. Interrupted in any way, the same command goes on where it was. Commands run side by side: each that \
      finds the default state folder in use takes one of its own (fetch-2 to fetch-16).

      EXAMPLES
        outrider fetch https://example.com/talk.mp4 --to ~/Talks
        outrider fetch 'https://example.com/get?id=7' -o talk.mp4
        outrider fetch https://example.com/pack.zip --sha256 9f86d081… --foreground
        outrider fetch --from urls.txt --to packs
        outrider fetch https://a.test/x --mirror https://b.test/x --chunks x.chunks
        outrider fetch https://files.example/a.bin --cert me.pem --key me-key.pem
        outrider fetch https://files.example/a.bin --token-file token
        outrider fetch https://a.test/1 https://a.test/2 --limit-rate 2MB --json

      EXIT STATUS
        0    all complete
        1    some failed, each named
        64   usage
        66   a file or directory that isn't there
        70   too few threads, open files or memory are allowed
        73   the state folder can't be used, or --to can't be made
        74   standard output didn't take the result
        75   stopped with work left that the same command resumes
        130  interrupted, likewise resumable
      """)

  @Argument(help: ArgumentHelp("What to fetch.", valueName: "URL")) var urls: [String] = []
  @Option(
    help: ArgumentHelp(
      "Further URLs, one a line; - reads standard input. Several lists are read in their order.", valueName: "file"),
    completion: .file())
  var from: [String] = []
  @Option(
    help: ArgumentHelp(
      "The directory that files go to; made, with those above it, where it is missing.", valueName: "dir"),
    completion: .directory)
  var to = "."
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("The file's name in --to, for one URL; otherwise its URL says it.", valueName: "name"))
  var output: String?
  @Option(help: ArgumentHelp("The SHA-256 that the file has to have; for one URL.", valueName: "hex")) var sha256:
    [String] = []
  @Option(
    help: ArgumentHelp(
      "The chunk list that the file has to fit, as `outrider digest` prints it; for one URL.", valueName: "file"),
    completion: .file())
  var chunks: [String] = []
  @Option(
    help: ArgumentHelp(
      "Another URL of the same file, which --chunks tells right from wrong; may be given several times.",
      valueName: "URL"))
  var mirror: [String] = []
  @Option(help: ArgumentHelp("Bytes per second in all, for example 2MB.", valueName: "rate")) var limitRate: String?
  @Flag(help: "Somebody waits for it: more connections, short waits, and failures after a few attempts.")
  var foreground = false
  @Option(
    help: ArgumentHelp("Where the journal is kept (default: $XDG_STATE_HOME/outrider/fetch).", valueName: "dir"),
    completion: .directory)
  var state: String?
  @Flag(help: "Addresses of private networks may be reached, too.") var allowPrivate = false
  @Option(
    help: ArgumentHelp("A PEM file with further certificate authorities.", valueName: "file"), completion: .file())
  var cacert: String?
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
  @Flag(help: "A damaged journal is put aside; its last backup, or an empty one, takes its place.") var startFresh =
    false
  @Flag(help: "Print one JSON object on standard output.") var json = false

  func run() async {
    do {
      try FetchArguments.check()
      let plan = try FetchPlan(self)
      let session = try FetchSession(self, plan)
      Exit.leave(try await session.run())
    } catch {
      Exit.with(error)
    }
  }

  /// Those of the command line, then those of `--from`.
  func allURLs() throws -> [FetchList.Entry] {
    urls.map { FetchList.Entry(url: $0) } + (try from.flatMap(FetchList.read))
  }

  func validate() throws {
    if urls.isEmpty, from.isEmpty { throw ValidationError("Name at least one URL.") }
    if sha256.count > 1 || chunks.count > 1 { throw ValidationError("--sha256 and --chunks are given once.") }
    if !sha256.isEmpty || !chunks.isEmpty, urls.count != 1 || !from.isEmpty {
      throw ValidationError("--sha256 and --chunks are for one URL; give each its own command.")
    }
    if let output {
      if urls.count != 1 || !from.isEmpty {
        throw ValidationError("--output is for one URL; give each its own command.")
      }
      if output.isEmpty || output == "." || output == ".." || output.utf8.count > 255 {
        throw ValidationError("--output names no file.")
      }
      if output == "-" { throw ValidationError("--output - : a file is made, and nothing goes to standard output.") }
      if output.utf8.contains(UInt8(ascii: "/")) {
        throw ValidationError("--output is a name; the directory goes with --to.")
      }
    }
    if !mirror.isEmpty, chunks.isEmpty {
      throw ValidationError("--mirror goes with --chunks, which says whose bytes are right.")
    }
    if mirror.count > DownloadSpecification.maxMirrors {
      throw ValidationError("At most \(DownloadSpecification.maxMirrors) mirrors are asked.")
    }
    if key != nil, cert == nil { throw ValidationError("--key goes with --cert.") }
    if state?.isEmpty == true { throw ValidationError("--state names no folder.") }
    if to.isEmpty { throw ValidationError("--to names no directory.") }
  }
}
