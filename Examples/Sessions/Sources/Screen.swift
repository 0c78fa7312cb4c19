import BackgroundAssets

/// What the terminal shows: a line that is redrawn while a download runs, plain lines where it isn't a terminal.
struct Screen {
  private let isTerminal = isatty(STDOUT_FILENO) == 1
  private var lastTenth = -1

  func line(_ text: String) {
    print(isTerminal ? "\r\u{1b}[K\(text)" : text)
    fflush(nil)
  }

  mutating func progress(_ id: String, _ fraction: Double) {
    let percent = Int(fraction * 100)
    if isTerminal {
      let filled = Int(fraction * 30)
      let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: 30 - filled)
      print("\r\u{1b}[K\(id) \(bar) \(percent) %", terminator: "")
      fflush(nil)
    } else if percent / 10 != lastTenth {
      lastTenth = percent / 10
      line("\(id) \(percent) %")
    }
  }

  func event(_ event: Downloader.Event) {
    switch event {
    case .began(let id): line("\(id) began")
    case .paused(let id): line("\(id) paused")
    case .progress(let id, let fraction): line("\(id) \(Int(fraction * 100)) %")
    case .finished(let id): line("\(id) is here")
    case .failed(let id, let error): line("\(id) failed: \(error.localizedDescription)")
    }
  }
}
