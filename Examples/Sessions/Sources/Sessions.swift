import BackgroundAssets

/// A terminal application for recorded talks. The essential ones are there before it is launched for the first time.
@main
struct Sessions {
  private static let usage = """
    usage: Sessions [--list | --download ID | --play ID | --watch]

      --list         the talks: which are essential, which are here
      --download ID  fetch one at once, with progress
      --play ID      play one; if its file was purged, it is fetched again
      --watch        print what happens to downloads, until interrupted
    """

  static func main() async {
    do {
      let arguments = Array(CommandLine.arguments.dropFirst())
      switch (arguments.first, arguments.count) {
      case ("--help", _), ("-h", _): print(usage)
      case (nil, _): try await Talks().interact()
      case ("--list", 1): try await Talks().list()
      case ("--watch", 1): try await Talks().watch()
      case ("--download", 2): try await Talks().download(arguments[1])
      case ("--play", 2): try await Talks().play(arguments[1])
      default:
        complain(usage)
        exit(64)
      }
    } catch {
      complain("Sessions: \(error.localizedDescription)")
      exit(1)
    }
  }
}

private func complain(_ text: String) { FileHandle.standardError.write(Data("\(text)\n".utf8)) }

/// The commands.
struct Talks {
  private let library: SessionLibrary
  private let catalog: Catalog

  struct Unknown: LocalizedError {
    let id: String
    var errorDescription: String? { "There is no talk '\(id)'; --list shows those that there are." }
  }

  init() throws {
    library = try SessionLibrary()
    catalog = try library.catalog()
  }

  func list() async throws {
    let queued = Dictionary(try await BADownloadManager.shared.currentDownloads.map { ($0.identifier, $0.state) }) {
      $1
    }
    for session in catalog.sessions {
      let state: String =
        if library.contains(session.id) { "here" } else {
          switch queued[session.id] {
          case .downloading?: "downloading"
          case .waiting?, .created?: "waiting"
          default: "-"
          }
        }
      let columns = [
        session.id.padded(to: 16), (session.isEssential ? "essential" : "").padded(to: 10), state.padded(to: 12),
        session.title,
      ]
      print(columns.joined(separator: " "))
    }
    let here = catalog.sessions.filter { library.contains($0.id) }
    print("\(here.count) of \(catalog.sessions.count) here, \(here.count(where: \.isEssential)) of them essential")
  }

  func download(_ id: String) async throws {
    guard let session = catalog[id] else { throw Unknown(id: id) }
    var screen = Screen()
    guard !library.contains(id) else { return screen.line("\(id) is here") }
    let downloader = Downloader(library: library)
    try await downloader.start(session)
    for await event in downloader.events {
      switch event {
      case .progress(id, let fraction): screen.progress(id, fraction)
      case .finished(id): return screen.line("\(id) is here")
      case .failed(id, let error): throw error
      default: break
      }
    }
  }

  func play(_ id: String) async throws {
    guard let session = catalog[id] else { throw Unknown(id: id) }
    if !library.contains(id) {
      print("\(id) isn't here any more: fetching it")
      try await download(id)
    }
    let bytes = try Data(contentsOf: library.file(of: id), options: .mappedIfSafe).count
    print("♪ \(session.title) (\(bytes) bytes)")
  }

  func watch() async throws {
    let downloader = Downloader(library: library)
    for download in try await BADownloadManager.shared.currentDownloads {
      print("\(download.identifier) \(download.state)")
    }
    let screen = Screen()
    for await event in downloader.events { screen.event(event) }
  }

  func interact() async throws {
    try await list()
    let prompt = "list, download ID, play ID, quit> "
    print(prompt, terminator: "")
    fflush(nil)
    while let line = readLine() {
      let words = line.split(separator: " ").map(String.init)
      do {
        switch (words.first, words.count) {
        case ("list", 1): try await list()
        case ("download", 2): try await download(words[1])
        case ("play", 2): try await play(words[1])
        case ("quit", 1): return
        default: break
        }
      } catch { print(error.localizedDescription) }
      print(prompt, terminator: "")
      fflush(nil)
    }
  }
}

extension String {
  fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
