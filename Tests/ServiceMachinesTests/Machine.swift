import AssetModel
import Basics
import Foundation
import TestSupport
import Testing

@testable import ServiceMachines

/// What all machines have in common.
protocol Machine: Codable, Equatable {
  associatedtype Event: Codable, Equatable
  associatedtype Effect: Codable, Equatable
  mutating func handle(_ event: Event, now: Instant) -> [Effect]
}

extension AppLifecycle: Machine {}
extension WakePlanner: Machine {}
extension EventRouter: Machine {}
extension DeliveryLedger: Machine {}
extension ExclusiveControl: Machine {}
extension Restrictions: Machine {}
extension InstallProgress: Machine {}
extension DownloadRegistry: Machine {}

/// As a journal would give it back.
func stored<Value: Codable>(_ value: Value) throws -> Value {
  try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
}

extension Machine {
  /// Handles an event, and lets a twin that comes from the journal handle the same: both do the same.
  mutating func handleAsTwins(_ event: Event, now: Instant) throws -> [Effect] {
    var twin = try stored(self)
    #expect(twin == self)
    let event = try stored(event)
    let effects = handle(event, now: now)
    #expect(twin.handle(event, now: now) == effects)
    #expect(twin == self)
    #expect(try stored(effects) == effects)
    return effects
  }

  mutating func handle(_ event: Event, at seconds: Double) -> [Effect] { handle(event, now: Instant(seconds: seconds)) }
}

/// The seed of a random test: a fresh one for each run, or that of the environment, to repeat a failure.
struct Seed: CustomTestStringConvertible {
  var value: UInt64

  static let current = Seed(
    value: ProcessInfo.processInfo.environment["OUTRIDER_SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 0..<1_000_000)
  )

  var testDescription: String { "OUTRIDER_SEED=\(value)" }
  var generator: SeededGenerator { SeededGenerator(seed: value) }
}

func planned(
  _ identifier: String, essential: Bool = false, size: Int64? = 100, host: String = "assets.example.com"
) -> PlannedDownload {
  PlannedDownload(
    uniqueIdentifier: "u-\(identifier)", identifier: identifier, isEssential: essential, size: size, host: host)
}
