import Foundation
import PluginHost
import TestSupport
import Testing

/// What an extension's author expects of Apple's API, in an extension that a host has loaded.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct AppleAPITests {
  private static let library = Result {
    try SwiftExtension.build([
      "Downloader.swift": #"""
      import BackgroundAssets
      import os

      private let log = Logger(subsystem: "sample", category: "x")
      private let group = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: "group.sample")!

      @main
      struct Downloader: BADownloaderExtension {
        func downloads(
          for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo
        ) -> Set<BADownload> {
          NSLog("hello")
          let secret = "secret"
          log.log("auto \(secret) \(secret, privacy: .private) \(secret, privacy: .public) \(7)")
          if request == .update { while true {} }
          return [
            BAURLDownload(
              identifier: "plain", request: URLRequest(url: URL(string: "http://e.example.com/")!), essential: false,
              fileSize: 12, applicationGroupIdentifier: "group.sample", priority: .default),
            BAURLDownload(
              identifier: "talk", request: URLRequest(url: URL(string: "https://e.example.com/a/talk%20one.mp4?x=/y")!),
              essential: false, fileSize: 3, applicationGroupIdentifier: "group.sample", priority: .default),
          ]
        }

        func backgroundDownload(_ failed: BADownload, failedWithError error: any Error) {
          log.log("failed \(error.localizedDescription, privacy: .public)")
          log.log("printed \("\(error)", privacy: .public)")
        }

        func backgroundDownload(_ finished: BADownload, finishedWithFileURL file: URL) {
          do {
            log.log("file \(file.lastPathComponent, privacy: .public)")
            try Replacing.put(file, at: group.appendingPathComponent("asset"))
            log.log("replaced \((try? String(contentsOf: group.appendingPathComponent("asset"), encoding: .utf8)) ?? "", privacy: .public)")
          } catch {
            log.log("error \(error, privacy: .public)")
          }
        }
      }
      """#,
      "Replacing.swift": #"""
      import Foundation

      enum Replacing {
        /// As Apple's documentation has it.
        static func put(_ file: URL, at target: URL) throws {
          let manager = FileManager.default
          for item in [nil, target] {
            let folder = try manager.url(
              for: .itemReplacementDirectory, in: .userDomainMask, appropriateFor: item, create: true)
            let new = folder.appendingPathComponent("new")
            if item == nil {
              try Data("left".utf8).write(to: new)
            } else {
              guard rename(file.path, new.path) == 0 else { throw CocoaError(.fileWriteUnknown) }
              guard rename(new.path, target.path) == 0 else { throw CocoaError(.fileWriteUnknown) }
            }
          }
        }

        static let container = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: "group.sample")
      }
      """#,
    ])
  }

  private struct Wake {
    var messages: [String] = []
    var rejected: [String] = []
    var left: [String] = []
    var denied: [String] = []
    var status: Int32 = 0
  }

  private func wake(_ options: [String] = [], request: String = "install", finishing: Bool = false) throws -> Wake {
    let manifest = try Workspace.temporaryFile("{}")
    let file = try Workspace.temporaryFile("new", suffix: ".mp4")
    let container = NSTemporaryDirectory() + "outrider-group-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: container, withIntermediateDirectories: true)
    try Data("old".utf8).write(to: URL(fileURLWithPath: container + "/asset"))
    defer { for path in [manifest, file, container] { try? FileManager.default.removeItem(atPath: path) } }
    let finished = try Workspace.run(
      ["run", try Self.library.get(), "--request", request, "--manifest", manifest, "--json", "--container", container]
        + (finishing ? ["--finished", "talk=\(file)"] : []) + options)
    let object = try #require(try JSONSerialization.jsonObject(with: Data(finished.output.utf8)) as? [String: Any])
    return Wake(
      messages: (object["log"] as? [[String: Any]] ?? []).compactMap { $0["message"] as? String },
      rejected: (object["rejected"] as? [[String: Any]] ?? []).compactMap { $0["reason"] as? String },
      left: try FileManager.default.contentsOfDirectory(atPath: container).sorted(),
      denied: (object["denials"] as? [[String: Any]] ?? []).filter { $0["layer"] as? String == "seccomp" }.map {
        "\($0)"
      }, status: finished.status)
  }

  @Test("a finished file keeps the last part of its URL, and replaces the old one from a replacement directory")
  func replaces() throws {
    let wake = try wake(["--observe"], finishing: true)
    #expect(wake.status == 0)
    #expect(wake.messages.contains("file talk one.mp4") && wake.messages.contains("replaced new"), "\(wake.messages)")
    // With what the extension left in such a directory.
    #expect(wake.left == ["asset"])
    #expect(wake.denied.isEmpty, "\(wake.denied)")
  }

  @Test("a rejection has one reason, in the report and for the extension, and prints it") func oneReason() throws {
    let wake = try wake()
    let reason = try #require(wake.rejected.first)
    #expect(wake.messages.contains("failed \(reason)"), "\(wake.messages)")
    let printed = try #require(wake.messages.first { $0.hasPrefix("printed ") })
    #expect(printed.contains(reason) && !printed.contains("(null)"))
  }

  @Test("strings are private in the log unless the author or --show-private says otherwise", arguments: [true, false])
  func privacy(showsPrivate: Bool) throws {
    let wake = try wake(showsPrivate ? ["--show-private"] : [])
    let hidden = showsPrivate ? "secret" : "<private>"
    #expect(wake.messages.contains("auto \(hidden) \(hidden) secret 7"), "\(wake.messages)")
  }

  @Test("NSLog begins with the extension's name", arguments: [[], ["--cold"]]) func nsLog(options: [String]) throws {
    let line = try #require(try wake(options).messages.first { $0.hasSuffix("] hello") })
    #expect(line.contains(" Sample["), "\(line)")
  }
}
