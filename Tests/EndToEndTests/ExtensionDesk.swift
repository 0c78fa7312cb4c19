import AssetModel
import Foundation
import PluginHost
import Sandbox
import Synchronization
import Testing

/// Answers an extension as a test says, and remembers what it was asked.
final class ExtensionDesk: ExtensionServices {
  private struct State {
    var events: [String] = []
    var waiting: [UUID: (condition: @Sendable ([String]) -> Bool, continuation: CheckedContinuation<Void, Never>)] = [:]
  }

  private let state = Mutex(State())
  private let onSchedule: @Sendable () async -> Int32
  private let onAcquire: @Sendable (Duration?) async -> Int32
  private let list: [Download]

  init(
    downloads list: [Download] = [], schedule: @escaping @Sendable () async -> Int32 = { 0 },
    acquire: @escaping @Sendable (Duration?) async -> Int32 = { _ in 0 }
  ) {
    self.list = list
    onSchedule = schedule
    onAcquire = acquire
  }

  var events: [String] { state.withLock(\.events) }

  func note(_ event: String) {
    let ready = state.withLock { state in
      state.events.append(event)
      let events = state.events
      let ready = state.waiting.filter { $0.value.condition(events) }
      for id in ready.keys { state.waiting[id] = nil }
      return ready.values.map(\.continuation)
    }
    for waiter in ready { waiter.resume() }
  }

  /// Returns when so many of an event have been noted, or when the test's time is over.
  func until(_ event: String, count: Int = 1) async {
    let condition: @Sendable ([String]) -> Bool = { $0.count { $0 == event } >= count }
    let id = UUID()
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if condition(state.events) || Task.isCancelled { return true }
          state.waiting[id] = (condition, continuation)
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: id) }?.continuation.resume()
    }
  }

  func schedule(_ download: Download) async -> Int32 {
    note("schedule \(download.identifier) \(download.uniqueIdentifier.isEmpty ? "nameless" : "named")")
    return await onSchedule()
  }

  func cancel(_ identifier: String) async -> Int32 {
    note("cancel \(identifier)")
    return 101
  }

  func currentDownloads() async -> [Download] { list }

  func acquireExclusiveControl(timeout: Duration?) async -> Int32 {
    note("acquire \(timeout.map { "\($0)" } ?? "forever")")
    let status = await onAcquire(timeout)
    note("acquired \(status)")
    return status
  }

  func releaseExclusiveControl() async { note("release") }
  func observe(_ isObserving: Bool) async { note("observe \(isObserving)") }
  func runEnded() async { note("ended") }
}

/// A host, two containers, a plugin and what it is told.
struct ExtensionScene {
  let folder: String
  var host: PluginHost
  var options = PluginHost.LoadOptions()
  var limits = Limits()

  init(_ services: (any ExtensionServices)? = nil) throws {
    folder = try LibraryTests.folder()
    for name in ["one", "two", "lease"] {
      try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: false)
    }
    host = try Workspace.host()
    options.isExtension = true
    options.services = services
    options.containers = [
      .init(group: "group.one", path: folder + "/one"), .init(group: "group.two", path: folder + "/two"),
    ]
  }

  func load() async throws -> Plugin {
    try await host.load(ServicesPlugin.library.get(), policy: Policy(limits: limits), options: options)
  }

  func remove() {
    host.stop()
    try? FileManager.default.removeItem(atPath: folder)
  }

  static func download(_ identifier: String, group: String = "group.one") -> Download {
    Download(
      identifier: identifier, uniqueIdentifier: "u", url: "https://e.example.com/film.mp4",
      applicationGroupIdentifier: group, fileSize: 7)
  }

  static func isUsage(_ error: any Error, _ text: String = "") -> Bool {
    if case HostError.usage(let found) = error { return text.isEmpty || found.contains(text) }
    return false
  }

  static func isInput(_ error: any Error) -> Bool {
    if case HostError.input = error { return true }
    return false
  }

  static let error = ErrorDescription(domain: "NSURLErrorDomain", code: -1, description: "")

  /// What the plugin logs when it is told of a failure.
  func run(_ behaviour: String) async throws -> RunReport {
    let plugin = try await load()
    do {
      try await plugin.downloadFailed(Self.download(behaviour), error: Self.error)
    } catch {
      guard error.report != nil else { throw error }
    }
    return await plugin.end()
  }
}

extension RunReport {
  var messages: [String] { log.map(\.message) }
}
