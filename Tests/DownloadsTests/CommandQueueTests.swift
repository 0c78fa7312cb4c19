import AssetModel
import Basics
import Testing

@testable import Downloads

/// Commands that wait: the last of those that exclude each other is left.
@Suite(.timeLimit(.minutes(2))) struct CommandQueueTests {
  private static let supersede = JobCommand.supersede(
    Supersession(
      specification: DownloadSpecification(
        app: "app", identifier: "a", url: "https://a.test/", transferClass: .background, directory: "/tmp",
        fileName: "a"),
      request: 1))

  @Test(
    arguments: [
      ([.pause, .resume], ["resume"]),
      ([.pause, .resume, .pause], ["pause"]),
      ([.setClass(.prefetch), .pause, .setClass(.background)], ["pause", "change to class background"]),
      ([.resume, .setClass(.background), .pause], ["change to class background", "pause"]),
      ([.pause, .setClass(.background), .cancel], ["cancel"]),
      ([.cancel, .resume, .setClass(.background), .cancel], ["cancel"]),
      // A caller waits for each of these, and what follows is for whatever it left.
      ([.pause, supersede, .resume, supersede], ["pause", "update", "resume", "update"]),
      ([.cancel, supersede, .pause, .cancel], ["cancel", "update", "cancel"]),
    ] as [([JobCommand], [String])])
  func whatIsLeft(commands: [JobCommand], names: [String]) {
    var queue = CommandQueue()
    for command in commands { queue.append(command) }
    #expect(queue.commands.map(\.name) == names)
  }

  @Test("it doesn't grow", arguments: 0..<20) func bounded(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var queue = CommandQueue()
    var last: String?
    let kinds: [JobCommand] = [.pause, .resume, .setClass(.background), .setClass(.foreground)]
    for _ in 0..<200 {
      let command = try #require(kinds.randomElement(using: &random))
      queue.append(command)
      #expect(queue.commands.count <= 2)
      if case .setClass = command { continue }
      last = command.name
    }
    #expect(queue.commands.map(\.name).filter { $0 == "pause" || $0 == "resume" } == [last].compactMap { $0 })
  }
}

/// What waits for the journal.
@Suite(.timeLimit(.minutes(2))) struct DeferredCommandsTests {
  @Test func keepsTheOrderOfEachJob() {
    var deferred = DeferredCommands()
    #expect(deferred.retryAt == nil && !deferred.contains(JobID(1)))
    let reason = Hold.Reason.journal("it fails", isOfVolume: false)
    deferred.append(.pause, for: JobID(2), because: reason, retryAt: .seconds(30))
    deferred.append(.setClass(.background), for: JobID(2))
    deferred.append(.cancel, for: JobID(1), because: reason, retryAt: .seconds(31))
    #expect(deferred.names(of: JobID(2)) == "pause, change to class background")
    #expect(deferred.retryAt == .seconds(31) && deferred.reason == reason)
    deferred.retryNow(.seconds(3))
    #expect(deferred.retryAt == .seconds(3))
    #expect(deferred.takeAll().map(\.id) == [JobID(1), JobID(2)])
    #expect(deferred.retryAt == nil && deferred.queues.isEmpty && deferred.reason == nil)
    deferred.retryNow(.seconds(3))
    #expect(deferred.retryAt == nil)
  }
}
