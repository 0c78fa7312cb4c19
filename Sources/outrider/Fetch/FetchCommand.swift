internal import ArgumentParser
internal import AssetModel
internal import Foundation

struct FetchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fetch",
    abstract: "Downloads files with the engine that serves apps, and resumes what was interrupted.",
    discussion: """
      The file's name is the last part of the URL's path, made safe, or --output; where several URLs have the same, the \
      second becomes a-2.bin, and so on. A file that is there already is replaced with --force or --if-changed only, \
      when the new one is complete. Plain http works to loopback hosts only. Interrupted in any way, the same command \
      goes on where it was. Commands run side by side: each that finds the default state folder in use takes one of its \
      own (fetch-2 to fetch-16).

      EXAMPLES
        outrider fetch https://example.com/talk.mp4 --to ~/Talks
        outrider fetch 'https://example.com/get?id=7' -o talk.mp4
        outrider fetch https://example.com/data.tar.gz -o - | tar xz
        outrider fetch https://example.com/list.csv --if-changed -q
        outrider fetch https://example.com/a.iso --checksums SHA256SUMS
        outrider fetch https://example.com/pack.zip --sha256 9f86d081… --foreground
        outrider fetch --from urls.txt --to packs --retry 3 --max-time 10m
        outrider fetch https://a.test/x --mirror https://b.test/x --chunks x.chunks
        outrider fetch https://files.example/a.bin --cert me.pem --key me-key.pem
        outrider fetch https://files.example/a.bin --token-file token
        outrider fetch https://a.test/1 -H 'Accept-Language: de' -v
        outrider fetch https://a.test/1 https://a.test/2 --limit-rate 2MB --json

      EXIT STATUS
        0    all complete
        1    some failed, each named
        64   usage
        66   a file or directory that isn't there
        70   too few threads, open files or memory are allowed
        73   the state folder can't be used, or --to can't be made
        74   standard output didn't take the result
        75   work is left that the same command resumes: --max-time, SIGTERM, SIGHUP
        75   another command has the state folder that was named
        130  interrupted (SIGINT, Ctrl-C), resumable as well
      """)

  @Argument(help: ArgumentHelp("What to fetch.", valueName: "URL")) var urls: [String] = []
  @Option(
    help: ArgumentHelp(
      "Further URLs, one a line; - reads standard input. Several lists are read in their order.", valueName: "file"),
    completion: .file())
  var from: [String] = []
  @OptionGroup(title: "Files") var place: FetchPlaceOptions
  @OptionGroup(title: "Integrity") var checks: FetchCheckOptions
  @OptionGroup(title: "Requests") var requests: FetchRequestOptions
  @OptionGroup(title: "Time and rate") var pace: FetchPaceOptions
  @OptionGroup(title: "Output") var output: FetchOutputOptions

  func run() async {
    // A reader that goes away must not end what is still under way.
    signal(SIGPIPE, SIG_IGN)
    do {
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
    let isOne = urls.count == 1 && from.isEmpty
    if !isOne, !checks.sha256.isEmpty || !checks.chunks.isEmpty {
      throw ValidationError("--sha256 and --chunks are for one URL; give each its own command.")
    }
    if !isOne, place.output != nil { throw ValidationError("--output is for one URL; give each its own command.") }
    if checks.checksums == "-", from.contains("-") {
      throw ValidationError("--from - and --checksums - both want standard input; name a file for one.")
    }
    if place.output == "-", output.json {
      throw ValidationError("--output - and --json both want standard output; leave one out.")
    }
  }
}
