import Foundation

/// What app and extension wrote down: every callback, by identifier.
struct CallbackRecords {
  struct Entry {
    var offered = 0
    var done = 0
    /// The file was there already, or had been taken away.
    var wrong: [String] = []
    /// Codes of failures that were told.
    var failed: [Int] = []
  }

  private(set) var entries: [String: Entry] = [:]

  init(folder: String) {
    for name in ["record-app", "record-extension"] {
      let text = (try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)) ?? ""
      for line in text.split(separator: "\n") {
        let words = line.split(separator: " ").map(String.init)
        guard words.count > 1 else { continue }
        switch words[0] {
        case "offered": entries[words[1], default: Entry()].offered += 1
        case "done": entries[words[1], default: Entry()].done += 1
        case "failed": entries[words[1], default: Entry()].failed.append(words.last.flatMap { Int($0) } ?? 0)
        case "doubled", "lost": entries[words[1], default: Entry()].wrong.append("\(line) (\(name))")
        default: break
        }
      }
    }
  }

  subscript(identifier: String) -> Entry { entries[identifier] ?? Entry() }
}
