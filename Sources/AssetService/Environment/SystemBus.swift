internal import CLinux
internal import Glibc
internal import LinuxSystem

/// A connection to the system bus, for what its services say of power and network, and whether the locale has changed. It
/// belongs to the thread that made it.
struct SystemBus: ~Copyable {
  private let bus: OpaquePointer

  /// A service that doesn't answer is waited for so long, once for each reading.
  private static let timeout: Duration = .seconds(2)

  /// `address`: as in DBUS_SYSTEM_BUS_ADDRESS; nil: where it says, or the usual one.
  init(address: String?) throws(SystemCallError) {
    var bus: OpaquePointer?
    var code = ol_bus_open(address, UInt64(Self.timeout / .microseconds(1)), &bus)
    guard code == 0, let bus else { throw SystemCallError("sd_bus_open_system", code: code, subject: address ?? "") }
    for rule in Self.rules where code == 0 { code = ol_bus_watch(bus, rule) }
    if code == 0 { code = ol_bus_watch_end(bus, Self.wakingRule) }
    guard code == 0 else {
      ol_bus_close(bus)
      throw SystemCallError("sd_bus_add_match", code: code, subject: address ?? "")
    }
    self.bus = bus
  }

  deinit { ol_bus_close(bus) }

  private static let networkManager = ("org.freedesktop.NetworkManager", "/org/freedesktop/NetworkManager")
  private static let upower = ("org.freedesktop.UPower", "/org/freedesktop/UPower")
  private static let displayDevice = ("org.freedesktop.UPower", "/org/freedesktop/UPower/devices/DisplayDevice")
  /// Its name since 0.20, and the one before, which those who stand for it have, too.
  private static let profiles = [
    ("org.freedesktop.UPower.PowerProfiles", "/org/freedesktop/UPower/PowerProfiles"),
    ("net.hadess.PowerProfiles", "/net/hadess/PowerProfiles"),
  ]
  /// What it says is in a file, which is read. It runs when the locale is changed, and only then.
  private static let localed = ("org.freedesktop.locale1", "/org/freedesktop/locale1")
  private static let watched: [(name: String, path: String)] =
    [networkManager, upower, displayDevice, localed] + profiles

  /// What may change a reading: a property, or that a service comes or goes.
  private static let rules =
    watched.map { "type='signal',sender='\($0.name)',path='\($0.path)',interface='org.freedesktop.DBus.Properties'" }
    + Set(watched.map(\.name)).sorted().map {
      "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\($0)'"
    }
  /// True before the machine sleeps, false after it.
  private static let wakingRule = "type='signal',sender='org.freedesktop.login1',member='PrepareForSleep'"

  /// Adds what services say that run now; none is started for it. False: one of them didn't answer in time, so what it would
  /// have said is missing.
  func read(into facts: inout MachineFacts) -> Bool {
    var reading = Reading(bus)
    if reading.has(Self.networkManager.0) {
      facts.networkState = reading.number(Self.networkManager, "State")
      if facts.networkState != nil {
        facts.connectivity = reading.number(Self.networkManager, "Connectivity")
        facts.metered = reading.number(Self.networkManager, "Metered")
      }
    }
    if reading.has(Self.upower.0) {
      facts.isOnBattery = reading.flag(Self.upower, "OnBattery")
      if facts.isOnBattery == true {
        facts.batteryLevel = reading.real(Self.displayDevice, "org.freedesktop.UPower.Device", "Percentage")
      }
    }
    if let service = Self.profiles.first(where: { reading.has($0.0) }) {
      facts.powerProfile = reading.text(service, "ActiveProfile")
    }
    return !reading.wasLate
  }

  /// Whether something may have changed since the last call, and whether the machine has slept.
  func take() throws(SystemCallError) -> (hasChanged: Bool, hasSlept: Bool) {
    var (messages, ends): (UInt32, UInt32) = (0, 0)
    try check("sd_bus_process", "") { ol_bus_take(bus, &messages, &ends) }
    return (messages > 0, ends > 0)
  }

  /// What poll(2) is to wait for.
  var readiness: (descriptor: Int32, events: Int32)? {
    var (descriptor, events): (Int32, Int32) = (-1, 0)
    return ol_bus_poll(bus, &descriptor, &events) == 0 ? (descriptor, events) : nil
  }
}

/// Questions to services, and whether one of them kept its answer for too long.
private struct Reading {
  private let bus: OpaquePointer
  private(set) var wasLate = false

  init(_ bus: OpaquePointer) { self.bus = bus }

  mutating func has(_ name: String) -> Bool {
    var has: Int32 = 0
    return answered(ol_bus_has(bus, name, &has)) && has != 0
  }

  mutating func flag(_ object: (String, String), _ name: String) -> Bool? {
    var value: Int32 = 0
    return answered(ol_bus_property(bus, object.0, object.1, object.0, name, Self.type("b"), &value)) ? value != 0 : nil
  }

  mutating func number(_ object: (String, String), _ name: String) -> UInt32? {
    var value: UInt32 = 0
    return answered(ol_bus_property(bus, object.0, object.1, object.0, name, Self.type("u"), &value)) ? value : nil
  }

  mutating func real(_ object: (String, String), _ interface: String, _ name: String) -> Double? {
    var value = 0.0
    return answered(ol_bus_property(bus, object.0, object.1, interface, name, Self.type("d"), &value)) ? value : nil
  }

  mutating func text(_ object: (String, String), _ name: String) -> String? {
    var text = [CChar](repeating: 0, count: 64)
    guard answered(ol_bus_text(bus, object.0, object.1, object.0, name, &text, text.count)) else { return nil }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Other errors are answers: the service has gone, or doesn't know what was asked.
  private mutating func answered(_ code: Int32) -> Bool {
    wasLate = wasLate || code == ETIMEDOUT
    return code == 0
  }

  /// A type code of the D-Bus specification.
  private static func type(_ code: Unicode.Scalar) -> CChar { CChar(code.value) }
}
