import Foundation

/// The processes below a service: its fork server, and the runners of extensions that it forked.
enum Descendants {
  static func forkServers(of service: Int32) -> [Int32] {
    processes().filter { $0.parent == service && $0.name.hasPrefix("outrider-runne") }.map(\.process)
  }

  static func runners(of service: Int32) -> [Int32] {
    let all = processes()
    var found: [Int32] = []
    var parents = Set(forkServers(of: service))
    while true {
      let next = all.filter { parents.contains($0.parent) }.map(\.process)
      if next.isEmpty { return found }
      found += next
      parents = Set(next)
    }
  }

  /// proc_pid_stat(5): the name stands in parentheses and may contain any character.
  private static func processes() -> [(process: Int32, parent: Int32, name: String)] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { Int32($0) }.compactMap { process in
      guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
        let begin = text.firstIndex(of: "("), let end = text.lastIndex(of: ")")
      else { return nil }
      let fields = text[end...].dropFirst(2).split(separator: " ")
      guard fields.count > 1, let parent = Int32(fields[1]) else { return nil }
      return (process, parent, String(text[text.index(after: begin)..<end]))
    }
  }
}
