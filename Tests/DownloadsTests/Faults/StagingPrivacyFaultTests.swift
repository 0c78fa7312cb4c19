import AssetModel
import AssetStore
import DevelopmentOrigin
import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

@testable import Downloads

/// F-70: what other processes and apps may not see or plant.
@Suite(.serialized, .timeLimit(.minutes(2))) struct StagingPrivacyFaultTests {
  private static func mode(_ path: String) throws -> UInt32 { try Files.identity(of: path).mode & 0o7777 }

  @Test("F-70 partial files lie in a private directory for each app, under names that say nothing") func privacy()
    async throws
  {
    let old = umask(0)
    defer { umask(old) }
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, _ in .cut(after: .byte(2 << 20), .silence) }
    }
    defer { origin.stop() }
    let harness = try Harness(clock: TestClock(jumpsWhenIdle: false))
    // Parts that run together to the same text.
    let specifications = [("app", "file"), ("appf", "ile"), ("app", "other")].map { app, identifier in
      var specification = harness.specification(origin.url(Trial.path), name: identifier, .foreground)
      specification.app = app
      return specification
    }
    let ids = try await harness.engine.add(specifications).compactMap(\.job)
    for id in ids {
      try await harness.engine.received(id, 2 << 20)
      harness.engine.pause(id)
    }
    for id in ids { try await harness.engine.isHeld(id, by: .paused) }
    let base = "\(harness.folder)/.outrider"
    #expect(try Self.mode(base) == 0o700)
    let apps = try Files.names(in: base)
    #expect(apps.count == 2)
    var names: [String] = []
    for app in apps {
      #expect(try Self.mode("\(base)/\(app)") == 0o700)
      for name in try Files.names(in: "\(base)/\(app)") {
        #expect(try Self.mode("\(base)/\(app)/\(name)") == 0o600)
        names.append(name)
      }
    }
    #expect(Set(names).count == 3)
    #expect((apps + names).allSatisfy { $0.allSatisfy(\.isHexDigit) && $0.count >= 32 })
    await harness.engine.close()
  }

  enum Foreign: String, CaseIterable, Sendable { case owner, groupMayRead, othersMayEnter, appOwner, appMode }

  @Test(
    "F-70 a staging directory that others may look into isn't used",
    arguments: [Foreign.groupMayRead, .othersMayEnter, .appMode])
  func openToOthers(kind: Foreign) async throws { try await isNotUsed(kind) }

  @Test(
    "F-70 a staging directory of another user isn't used",
    .enabled(if: geteuid() == 0, "only root can give a directory away"), arguments: [Foreign.owner, .appOwner])
  func foreign(kind: Foreign) async throws { try await isNotUsed(kind) }

  private func isNotUsed(_ kind: Foreign) async throws {
    let folder = try Harness.folderWithStaging()
    let base = "\(folder)/.outrider"
    let app = "\(base)/\(Destination.digest(["app"], length: 16))"
    switch kind {
    case .owner: #expect(chown(base, 65534, 65534) == 0)
    case .groupMayRead: #expect(chmod(base, 0o740) == 0)
    case .othersMayEnter: #expect(chmod(base, 0o701) == 0)
    case .appOwner: #expect(chown(app, 65534, 65534) == 0)
    case .appMode: #expect(chmod(app, 0o750) == 0)
    }
    let origin = try Origin { $0.resources[Trial.path] = Resource(Trial.content) }
    defer { origin.stop() }
    let harness = try Harness(folder: folder)
    let end = try await harness.fetch(harness.specification(origin.url(Trial.path)))
    if kind == .owner {
      #expect(end.isFinished, "there is one of our own beside it: \(end)")
    } else {
      #expect(end.reason == .volume && end.failure?.errno == EPERM, "\(end)")
      #expect(origin.requests.isEmpty && harness.contents() == nil)
    }
    #expect(try Files.names(in: app).isEmpty, "nothing was put there")
    await harness.engine.close()
  }
}
