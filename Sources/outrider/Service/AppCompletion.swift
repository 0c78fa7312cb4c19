internal import ArgumentParser
internal import Dispatch
internal import Foundation
internal import ServiceClient
internal import ServiceProtocol
internal import Synchronization

extension CompletionKind {
  /// The identifiers of the installed apps. Nothing where no service runs: a shell that completes starts none.
  static var apps: Self { .custom { words, _, prefix in AppCompletion.identifiers(words, prefix: prefix) } }
}

enum AppCompletion {
  /// Milliseconds that a shell waits at most.
  private static let timeout = 300

  /// `words`: the command line, as the shell has it.
  static func identifiers(_ words: [String], prefix: String) -> [String] {
    guard let place = try? ServicePlace(state: state(in: words)),
      let connection = try? ServiceConnection.connect(to: place.paths.socket),
      let session = try? ServiceSession(connection)
    else { return [] }
    defer { session.close() }
    let answered = DispatchSemaphore(value: 0)
    let box = Box()
    session.request(.hello(Hello(role: .operator))) { _ in }
    session.request(.apps(app: nil)) { result in
      if case .success(.apps(let apps)) = result { box.found.withLock { $0 = apps.map(\.identifier) } }
      answered.signal()
    }
    guard answered.wait(timeout: .now() + .milliseconds(timeout)) == .success else { return [] }
    return box.found.withLock { $0 }.filter { $0.hasPrefix(prefix) && isWord($0) }.sorted()
  }

  private final class Box: Sendable { let found = Mutex<[String]>([]) }

  /// What a shell can't take for anything but a word.
  private static func isWord(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { isalnum(Int32($0)) != 0 && $0 < 0x80 || "._-".utf8.contains($0) }
  }

  private static func state(in words: [String]) -> String? {
    for (index, word) in words.enumerated() {
      if word.hasPrefix("--state=") { return String(word.dropFirst("--state=".count)) }
      if word == "--state", index + 1 < words.count { return words[index + 1] }
    }
    return nil
  }
}
