import Basics
import Foundation

/// What happens in one round, drawn from a seed: what there is to download, who asks for it, and who is killed when.
struct KillRound: CustomStringConvertible {
  enum Victim: String, CaseIterable { case service, app, runner, forkServer }
  enum Trigger: String { case install, update, periodic, none }

  struct File {
    var identifier: String
    var size: Int
    var isEssential = false
    /// With an address that no rule allows: it fails, and an app has to be told.
    var isRefused = false
    /// By the app, and not by the extension.
    var isAppsOwn = false
    var isForeground = false
  }

  struct Kill {
    var victim: Victim
    /// Milliseconds since the one before.
    var pause: Int
  }

  var number: Int
  var trigger: Trigger
  var hasApp: Bool
  var files: [File] = []
  var kills: [Kill] = []

  init(_ number: Int, using random: inout SeededGenerator) {
    self.number = number
    hasApp = number > 1 && Bool.random(using: &random)
    let draw = Int.random(in: 0..<10, using: &random)
    trigger = number == 1 ? .install : draw < 2 ? .update : draw < 8 || !hasApp ? .periodic : .none
    for index in 0..<Int.random(in: 1...4, using: &random) where trigger != .none {
      let isEssential = [.install, .update].contains(trigger) && Bool.random(using: &random)
      files.append(
        File(identifier: "r\(number)-\(index)", size: Self.size(using: &random), isEssential: isEssential))
    }
    if trigger != .none, Int.random(in: 0..<4, using: &random) == 0 {
      files.append(File(identifier: "r\(number)-refused", size: 10, isRefused: true))
    }
    for index in 0..<Int.random(in: 1...3, using: &random) where hasApp {
      files.append(
        File(
          identifier: "a\(number)-\(index)", size: Self.size(using: &random), isAppsOwn: true,
          isForeground: Bool.random(using: &random)))
    }
    for _ in 0..<Int.random(in: 1...2, using: &random) {
      let victims = Victim.allCases.filter { hasApp || $0 != .app }
      kills.append(
        Kill(
          victim: victims.randomElement(using: &random) ?? .service,
          pause: Int.random(in: 0...(Bool.random(using: &random) ? 40 : 250), using: &random)))
    }
  }

  /// Without kills; identifiers that begin with `e` are essential.
  init(_ number: Int, _ trigger: Trigger, _ files: [String: Int]) {
    self.number = number
    self.trigger = trigger
    hasApp = false
    self.files = files.sorted { $0.key < $1.key }.map {
      File(identifier: $0.key, size: $0.value, isEssential: $0.key.hasPrefix("e"))
    }
  }

  private static func size(using random: inout SeededGenerator) -> Int {
    Bool.random(using: &random)
      ? Int.random(in: 1...2000, using: &random) : Int.random(in: 1...200_000, using: &random)
  }

  var description: String {
    let kills = kills.map { "\($0.victim.rawValue) +\($0.pause) ms" }.joined(separator: ", ")
    return "round \(number): \(trigger.rawValue)\(hasApp ? " with app" : ""), \(files.count) files, kills: \(kills)"
  }
}
