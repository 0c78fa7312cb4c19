import Foundation
import LinuxSystem
import ServiceMachines
import ServiceProtocol
import Synchronization
import TestSupport
import Testing

@testable import AssetService

/// A bus with NetworkManager, UPower and the others on it, as Tests/bus-services makes them.
private final class BusServices {
  struct Refused: Error, CustomStringConvertible {
    let description: String
  }

  let folder: String
  let address: String
  private let process = TestProcess()
  private let input = Pipe.own()
  private let output = Pipe.own()

  init() throws {
    folder = NSTemporaryDirectory() + "bus-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    process.executableURL = URL(fileURLWithPath: Documents.root + "/Tests/bus-services")
    process.arguments = [folder]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    address = try Self.line(output.fileHandleForReading)
  }

  func end() {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
    try? FileManager.default.removeItem(atPath: folder)
  }

  func tell(_ command: String) throws {
    try input.fileHandleForWriting.write(contentsOf: Data((command + "\n").utf8))
    let answer = try Self.line(output.fileHandleForReading)
    guard answer == "ok" else { throw Refused(description: "\(command): \(answer)") }
  }

  func set(_ template: String, _ path: String, _ interface: String, _ member: String, _ type: String, _ value: String)
    throws
  {
    try tell("set \(template) \(path) \(interface) \(member) \(type) \(value)")
  }

  func setNetwork(_ member: String, _ value: Int) throws {
    let path = "/org/freedesktop/NetworkManager"
    try set("networkmanager", path, "org.freedesktop.NetworkManager", member, "u", "\(value)")
  }

  func setOnBattery(_ isOnBattery: Bool, level: Double) throws {
    let path = "/org/freedesktop/UPower"
    try set("upower", path, "org.freedesktop.UPower", "OnBattery", "b", "\(isOnBattery)")
    try set("upower", path + "/devices/DisplayDevice", "org.freedesktop.UPower.Device", "Percentage", "d", "\(level)")
  }

  private static func line(_ handle: FileHandle) throws -> String {
    var bytes: [UInt8] = []
    while let byte = try handle.read(upToCount: 1)?.first {
      if byte == UInt8(ascii: "\n") { return String(decoding: bytes, as: UTF8.self) }
      bytes.append(byte)
    }
    throw Refused(description: "Tests/bus-services has ended: \(String(decoding: bytes, as: UTF8.self))")
  }
}

/// What a monitor told, in its order.
private final class Told: Sendable {
  struct Late: Error, CustomStringConvertible {
    let description: String
  }

  private let all = Mutex<[(state: MachineState, hasSlept: Bool)]>([])

  func add(_ state: MachineState, _ hasSlept: Bool) { all.withLock { $0.append((state, hasSlept)) } }

  var count: Int { all.withLock { $0.count } }
  var sleeps: Int { all.withLock { $0.count { $0.hasSlept } } }

  func wait(_ what: String, until isThere: (MachineState) -> Bool) async throws {
    for _ in 0..<3000 {
      if let last = all.withLock({ $0.last?.state }), isThere(last) { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    throw Late(description: "not within 30 s: \(what); told was \(all.withLock { $0 })")
  }
}

/// The services' own D-Bus interfaces, on a bus of the test's own.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct MachineMonitorTests {
  private static func sources(_ bus: BusServices) -> AssetService.MachineSources {
    var sources = AssetService.MachineSources()
    sources.systemBus = bus.address
    sources.powerSupplies = bus.folder + "/supplies"
    // No route.
    sources.network = bus.folder + "/net"
    sources.localeFile = bus.folder + "/locale.conf"
    return sources
  }

  private static func makeEmptyRoutes(_ bus: BusServices) throws {
    try FileManager.default.createDirectory(atPath: bus.folder + "/net", withIntermediateDirectories: true)
    try Data("Iface\n".utf8).write(to: URL(fileURLWithPath: bus.folder + "/net/route"))
  }

  @Test("What NetworkManager, UPower and the power profile say is told at once, also of services that come and go")
  func follows() async throws {
    let bus = try BusServices()
    defer { bus.end() }
    try Self.makeEmptyRoutes(bus)
    let told = Told()
    let monitor = try MachineMonitor(Self.sources(bus)) { told.add($0, $1) }
    defer { withExtendedLifetime(monitor) {} }
    try await told.wait("a bus without services") { $0 == MachineState() }

    try bus.tell("start networkmanager")
    try bus.setNetwork("Metered", 1)
    try await told.wait("metered") { $0.isMetered && $0.isOnline }
    try bus.setNetwork("Connectivity", 2)
    try await told.wait("a login page") { $0.isBehindPortal }
    try bus.setNetwork("State", 20)
    try await told.wait("disconnected") { !$0.isOnline && !$0.isBehindPortal }
    try bus.tell("stop networkmanager")
    try await told.wait("NetworkManager is gone") { $0 == MachineState() }

    try bus.tell("start upower")
    try bus.setOnBattery(true, level: 12.5)
    try await told.wait("on battery") { $0.battery == 12 && $0.isLowPower && !$0.savesPower }
    try bus.setOnBattery(true, level: 60)
    try await told.wait("a fuller battery") { $0.battery == 60 && !$0.isLowPower }
    try bus.setOnBattery(false, level: 60)
    try await told.wait("on mains") { $0 == MachineState() }

    try bus.tell("start power_profiles_daemon")
    let path = "/net/hadess/PowerProfiles"
    try bus.set("power_profiles_daemon", path, "net.hadess.PowerProfiles", "ActiveProfile", "s", "power-saver")
    try await told.wait("the profile") { $0.savesPower }
    try bus.set("power_profiles_daemon", path, "net.hadess.PowerProfiles", "ActiveProfile", "s", "balanced")
    try await told.wait("the other profile") { !$0.savesPower }
  }

  @Test("Another system locale is told when localed says that it has changed (B1)")
  func language() async throws {
    let bus = try BusServices()
    defer { bus.end() }
    func write(_ locale: String) throws {
      try Data("LANG=\(locale)\n".utf8).write(to: URL(fileURLWithPath: bus.folder + "/locale.conf"))
    }
    try write("de_DE.UTF-8")
    let told = Told()
    let monitor = try MachineMonitor(Self.sources(bus)) { told.add($0, $1) }
    defer { withExtendedLifetime(monitor) {} }
    try await told.wait("the first reading") { $0.language == "de-DE" }
    try bus.tell("start localed")
    let path = "/org/freedesktop/locale1"
    for (locale, tag) in [("fr_FR.UTF-8", "fr-FR"), ("C.UTF-8", nil), ("it_IT", "it-IT")] {
      try write(locale)
      try bus.set("localed", path, "org.freedesktop.locale1", "Locale", "s", "LANG=\(locale)")
      try await told.wait(locale) { $0.language == tag }
    }
  }

  @Test("A machine that has slept is told, though nothing else has changed")
  func sleeps() async throws {
    let bus = try BusServices()
    defer { bus.end() }
    try bus.tell("start logind")
    let told = Told()
    let monitor = try MachineMonitor(Self.sources(bus)) { told.add($0, $1) }
    defer { withExtendedLifetime(monitor) {} }
    try await told.wait("the first reading") { $0 == MachineState() }
    #expect(told.sleeps == 0)
    try bus.tell("sleep")
    #expect(try await eventually { told.sleeps > 0 })
    #expect(told.sleeps == 1)
  }

  @Test("A service that hangs keeps no listener from hearing of the others")
  func hangs() async throws {
    let bus = try BusServices()
    defer { bus.end() }
    try bus.tell("start networkmanager")
    try bus.tell("start upower")
    try bus.setOnBattery(true, level: 5)
    try bus.tell("hang networkmanager")
    let told = Told()
    let monitor = try MachineMonitor(Self.sources(bus)) { told.add($0, $1) }
    defer { withExtendedLifetime(monitor) {} }
    try await told.wait("the battery") { $0.battery == 5 && !$0.isMetered }
  }

  @Test("A service that answers too late is asked again soon, though nothing changes any more")
  func answersLate() async throws {
    let bus = try BusServices()
    defer { bus.end() }
    try bus.tell("start upower")
    try bus.setOnBattery(true, level: 5)
    try bus.tell("hang upower")
    let told = Told()
    let monitor = try MachineMonitor(Self.sources(bus)) { told.add($0, $1) }
    defer { withExtendedLifetime(monitor) {} }
    try await told.wait("no service says it") { $0 == MachineState() }
    try bus.tell("wake upower")
    try await told.wait("the battery") { $0.battery == 5 }
  }

  @Test("Without a bus the kernel's files are read")
  func withoutABus() async throws {
    let folder = NSTemporaryDirectory() + "nobus-\(UUID().uuidString.prefix(8))"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let battery = folder + "/supplies/BAT0"
    try FileManager.default.createDirectory(atPath: battery, withIntermediateDirectories: true)
    for (name, text) in ["type": "Battery", "status": "Discharging", "capacity": "9"] {
      try Data(text.utf8).write(to: URL(fileURLWithPath: "\(battery)/\(name)"))
    }
    var sources = AssetService.MachineSources()
    sources.powerSupplies = folder + "/supplies"
    for address in ["unix:path=\(folder)/none", "nonsense", "unix:path=\(battery)/type", ""] {
      sources.systemBus = address
      let told = Told()
      let monitor = try MachineMonitor(sources) { told.add($0, $1) }
      defer { withExtendedLifetime(monitor) {} }
      try await told.wait(address) { $0.battery == 9 && $0.isOnline }
    }
  }

  @Test("The service's settings follow the machine until a user sets them, and again when they take that back (B10)")
  func service() async throws {
    let bus = try BusServices()
    defer { bus.end() }
    try bus.tell("start networkmanager")
    try bus.setNetwork("Metered", 1)
    let folder = bus.folder + "/state"
    var configuration = AssetService.Configuration(paths: ServicePaths(state: folder))
    configuration.machine = Self.sources(bus)
    let service = try AssetService(configuration)
    await service.start()
    try await Self.wait("metered", service) { $0.isMetered && !$0.isMeteredSet && !$0.isLowPower }
    try await Self.set("isMetered", "false", service)
    try await Self.wait("set", service) { !$0.isMetered && $0.isMeteredSet }
    try bus.tell("start upower")
    try bus.setOnBattery(true, level: 3)
    try await Self.wait("an empty battery", service) { $0.isLowPower && !$0.isLowPowerSet && !$0.isMetered }
    try await Self.set("isMetered", nil, service)
    try await Self.wait("taken back", service) { $0.isMetered && !$0.isMeteredSet }
    await service.stop()

    // What was so last is taken to be so until the machine has been read.
    configuration.machine?.systemBus = "unix:path=\(folder)/none"
    let next = try AssetService(configuration)
    #expect(await next.conditions.isMetered)
    await next.start()
    try await Self.wait("no service says it any more", next) { !$0.isMetered && !$0.isLowPower }
    await next.stop()
  }

  private static func set(_ key: String, _ value: String?, _ service: AssetService) async throws {
    _ = try await service.perform(.set(key: key, value: value, app: nil)).get()
  }

  private static func wait(
    _ what: String, _ service: AssetService, until isThere: (SettingsSummary) -> Bool
  ) async throws {
    var last: SettingsSummary?
    for _ in 0..<3000 {
      guard case .settings(let settings) = try await service.perform(.settings).get() else { break }
      if isThere(settings) { return }
      last = settings
      try await Task.sleep(for: .milliseconds(10))
    }
    throw Told.Late(description: "not within 30 s: \(what); it is \(String(describing: last))")
  }
}

extension AssetService {
  fileprivate var conditions: Conditions { parts.decider.core.conditions }
}
