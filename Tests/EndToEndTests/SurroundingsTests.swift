import Foundation
import TestSupport
import Testing

/// What an extension finds around it.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct SurroundingsTests {
  private static let library = Result {
    try SwiftExtension.build([
      "Downloader.swift": """
      import BackgroundAssets
      import os

      private let log = Logger(subsystem: "sample", category: "x")

      @main
      struct Downloader: BADownloaderExtension {
        func downloads(
          for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo
        ) -> Set<BADownload> {
          log.log("\\(TimeZone.current.identifier) \\(0, format: .secondsSince1970)")
          log.log("\\(ProcessInfo.processInfo.processName) \\(CommandLine.arguments.joined(separator: " "))")
          return [
            BAURLDownload(
              identifier: "plain", request: URLRequest(url: URL(string: "http://e.example.com/")!), essential: false,
              fileSize: 12, applicationGroupIdentifier: "group.sample", priority: .default)
          ]
        }

        func backgroundDownload(_ failed: BADownload, failedWithError error: any Error) {
          let error = error as NSError
          let underlying = error.userInfo[NSUnderlyingErrorKey] as? NSError
          log.log("\\(error.code) \\(underlying?.domain ?? "") \\(underlying?.code ?? 0) \\(error.localizedDescription)")
        }
      }
      """
    ])
  }

  private func messages(environment: [String: String] = [:], _ options: [String] = []) throws -> [String] {
    let manifest = try Workspace.temporaryFile("{}", suffix: ".json")
    defer { try? FileManager.default.removeItem(at: URL(fileURLWithPath: manifest)) }
    let finished = try Workspace.run(
      ["run", try Self.library.get(), "--request", "install", "--manifest", manifest, "--json", "--show-private"]
        + options,
      environment: environment)
    #expect(finished.status == 0, "\(finished.errors)")
    let object = try JSONSerialization.jsonObject(with: Data(finished.output.utf8)) as? [String: Any]
    return (object?["log"] as? [[String: Any]] ?? []).compactMap { $0["message"] as? String }
  }

  @Test(arguments: [[], ["--cold"]]) func oneTimeZone(options: [String]) throws {
    #expect(
      try messages(environment: ["TZ": "Asia/Tokyo"], options).first == "Asia/Tokyo 1970-01-01 09:00:00")
  }

  @Test func theRunnersOwnPathStaysHidden() throws {
    #expect(try messages().dropFirst().first == "Sample /bundle/libSample.so")
  }

  @Test func aRejectedAddressHasItsReasonUnderneath() throws {
    let message = try #require(try messages().last)
    #expect(message.hasPrefix("102 NSURLErrorDomain -1002 "), "\(message)")
    #expect(message.contains("serve the file over https"), "\(message)")
  }
}
