import Foundation
import ServiceMachines
import Testing

@testable import AssetService

/// What follows from what the machine's services and files say, without any of them.
@Suite(.timeLimit(.minutes(1))) struct MachineFactsTests {
  private static func facts(_ change: (inout MachineFacts) -> Void) -> MachineFacts {
    var facts = MachineFacts()
    change(&facts)
    return facts
  }

  @Test("Where no service says anything, the machine is online, on its line and saves nothing")
  func unknown() {
    #expect(MachineFacts().state == MachineState())
    #expect(!MachineState().isLowPower && MachineState().isOnline && !MachineState().isMetered)
  }

  @Test(
    "NetworkManager's states from asleep to connecting are offline, unless the kernel has a route that it doesn't manage",
    arguments: [
      (0, true), (10, false), (20, false), (30, false), (40, false), (50, true), (60, true), (70, true), (4000, true),
    ] as [(UInt32, Bool)])
  func online(networkState: UInt32, isOnline: Bool) {
    let facts = Self.facts { ($0.networkState, $0.hasDefaultRoute) = (networkState, false) }
    #expect(facts.state.isOnline == isOnline)
    #expect(Self.facts { ($0.networkState, $0.hasDefaultRoute) = (networkState, true) }.state.isOnline)
  }

  @Test(
    "A line that is metered, or taken to be, is metered",
    arguments: [(nil, false), (0, false), (1, true), (2, false), (3, true), (4, false), (9, false)] as [(UInt32?, Bool)]
  )
  func metered(metered: UInt32?, isMetered: Bool) {
    #expect(Self.facts { $0.metered = metered }.state.isMetered == isMetered)
  }

  @Test("A login page counts as long as there is a network")
  func portal() {
    #expect(Self.facts { ($0.networkState, $0.connectivity) = (70, 2) }.state.isBehindPortal)
    #expect(!Self.facts { ($0.networkState, $0.connectivity) = (70, 4) }.state.isBehindPortal)
    let offline = Self.facts { ($0.networkState, $0.connectivity, $0.hasDefaultRoute) = (20, 2, false) }
    #expect(!offline.state.isBehindPortal && !offline.state.isOnline)
  }

  @Test("The profile that saves power does so at any charge")
  func profile() {
    #expect(Self.facts { $0.powerProfile = "power-saver" }.state.isLowPower)
    #expect(!Self.facts { $0.powerProfile = "balanced" }.state.isLowPower)
  }

  @Test(
    "UPower's word on the battery comes before the kernel's, and a charge that can't be isn't believed",
    arguments: [
      (true, 19.9, 19, true), (true, 20, 20, false), (true, 0, 0, true), (false, 5, nil, false), (true, -1, 50, false),
      (true, 101, 50, false), (true, .nan, 50, false), (true, .infinity, 50, false), (true, nil, 50, false),
    ] as [(Bool, Double?, Int?, Bool)])
  func upower(isOnBattery: Bool, level: Double?, battery: Int?, isLowPower: Bool) {
    let facts = Self.facts {
      ($0.isOnBattery, $0.batteryLevel) = (isOnBattery, level)
      $0.supplies = [PowerSupply(type: "Battery", status: "Discharging", capacity: 50)]
    }
    #expect(facts.state.battery == battery && facts.state.isLowPower == isLowPower)
  }

  @Test(
    "Without UPower the kernel's supplies say whether a battery of the machine is being used up, and how full it is")
  func supplies() {
    let full = PowerSupply(type: "Battery", status: "Discharging", capacity: 30)
    let empty = PowerSupply(type: "Battery", status: "Not charging", capacity: 4)
    let charging = PowerSupply(type: "Battery", status: "Charging", capacity: 4)
    let gone = PowerSupply(type: "Battery", isPresent: false, status: "Discharging", capacity: 1)
    let mouse = PowerSupply(type: "Battery", isOfDevice: true, status: "Discharging", capacity: 2)
    let mains = PowerSupply(type: "Mains", isOnline: true)
    let pulled = PowerSupply(type: "Mains", isOnline: false)
    let ups = PowerSupply(type: "UPS", status: "Discharging", capacity: 90)
    let unknown = PowerSupply(type: "Battery", status: "Discharging")
    let table: [([PowerSupply], Int?)] = [
      ([], nil), ([full], 30), ([full, empty], 17), ([full, mains], nil), ([full, pulled], 30),
      ([charging, mains], nil),
      ([gone], nil), ([mouse], nil), ([full, mouse, gone], 30), ([ups], 90), ([unknown], nil), ([empty], nil),
    ]
    for (supplies, battery) in table {
      #expect(Self.facts { $0.supplies = supplies }.state.battery == battery, "\(supplies)")
    }
  }

  @Test("What users set comes before what the machine says, and taking it back brings that again")
  func settings() {
    var watch = MachineWatch()
    var settings = ServiceSettings()
    let metered = Conditions(isMetered: true, language: "de")
    #expect(watch.conditions(metered, settings: settings) == metered, "until it is read it is as it was")
    watch.state = MachineState(savesPower: false, battery: 7, isOnline: false, isBehindPortal: false, isMetered: false)
    let read = Conditions(isLowPower: true, isOnline: false, isMetered: false, language: "de")
    #expect(watch.conditions(metered, settings: settings) == read)
    let engine = watch.engineConditions(read, settings: settings)
    #expect(engine.battery == .init(level: 7, threshold: 20) && !engine.isSavingPower && !engine.isOnline)
    (settings.isLowPower, settings.isMetered) = (false, true)
    let set = watch.conditions(read, settings: settings)
    #expect(!set.isLowPower && set.isMetered && !set.isOnline)
    #expect(watch.engineConditions(set, settings: settings).battery == nil, "who says no means the battery, too")
    settings.isLowPower = true
    #expect(watch.engineConditions(watch.conditions(read, settings: settings), settings: settings).isSavingPower)
    settings = ServiceSettings()
    #expect(watch.conditions(set, settings: settings) == read)
  }

  @Test("What users set and take back doesn't stay where the machine says nothing")
  func takenBack() {
    let watch = MachineWatch()
    var settings = ServiceSettings()
    (settings.isLowPower, settings.isMetered, settings.language) = (true, true, "de")
    let set = watch.conditions(Conditions(), settings: settings)
    #expect(set == Conditions(isLowPower: true, isMetered: true, language: "de"))
    #expect(watch.conditions(set, settings: ServiceSettings(), replacing: settings) == Conditions())
    // What another setting leaves as it is stays.
    #expect(watch.conditions(set, settings: settings, replacing: ServiceSettings()) == set)
    #expect(watch.conditions(set, settings: settings, replacing: settings) == set)
  }

  @Test("A login page is seen from other threads as long as it is there")
  func loginPage() {
    var watch = MachineWatch()
    let portal = watch.portal
    #expect(!portal.isThere)
    watch.state = MachineState(isBehindPortal: true)
    #expect(portal.isThere)
    watch.state = MachineState()
    #expect(!portal.isThere)
  }
}

/// The kernel's files, made by hand.
@Suite(.timeLimit(.minutes(1))) struct MachineFilesTests {
  private static func folder() throws -> String {
    let folder = NSTemporaryDirectory() + "machine-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    return folder
  }

  private static func write(_ files: [String: String], in folder: String) throws {
    for (name, text) in files {
      let path = "\(folder)/\(name)"
      try FileManager.default.createDirectory(
        atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
      try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    }
  }

  @Test("Power supplies are read as the kernel writes them; what makes no sense isn't there")
  func supplies() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Self.write(
      [
        "AC/type": "Mains\n", "AC/online": "0\n",
        "BAT0/type": "Battery\n", "BAT0/status": "Discharging\n", "BAT0/capacity": "41\n", "BAT0/present": "1\n",
        "BAT1/type": "Battery\n", "BAT1/status": "Discharging", "BAT1/capacity": "141\n",
        "hid/type": "Battery\n", "hid/scope": "Device\n", "hid/capacity": "-3\n",
        "odd/type": "\n\nBattery",
      ], in: folder)
    try FileManager.default.createDirectory(atPath: "\(folder)/empty", withIntermediateDirectories: true)
    #expect(
      PowerSupply.all(in: folder) == [
        PowerSupply(type: "Mains"),
        PowerSupply(type: "Battery", status: "Discharging", capacity: 41),
        PowerSupply(type: "Battery", status: "Discharging"),
        PowerSupply(),
        PowerSupply(type: "Battery", isOfDevice: true),
        PowerSupply(type: "Battery"),
      ])
    #expect(PowerSupply.all(in: folder + "/none").isEmpty)
  }

  @Test(
    "A default route is one that is up and leads elsewhere",
    arguments: [
      ("eth0 00000000 0100A8C0 0003 0 0 100 00000000 0 0 0", nil, true),
      ("eth0 00000000 0100A8C0 0002 0 0 100 00000000 0 0 0", nil, false),
      ("eth0 0000A8C0 00000000 0001 0 0 100 00FFFFFF 0 0 0", nil, false),
      ("eth0 00000000 00000000", nil, false),
      ("", "\(zero) 00 \(zero) 00 fe80 00000400 1 0 00450003 eth0", true),
      ("", "\(zero) 00 \(zero) 00 \(zero) ffffffff 1 0 00200200 lo", false),
      ("", "\(zero) 00 \(zero) 00 \(zero) ffffffff 1 0 00200201 eth0", false),
      ("", "\(zero) 40 \(zero) 00 \(zero) ffffffff 1 0 00000001 eth0", false),
      (nil, nil, true),
    ] as [(String?, String?, Bool)])
  func routes(table4: String?, table6: String?, exists: Bool) throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let header = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
    if let table4 {
      try Self.write(["route": header + table4.replacingOccurrences(of: " ", with: "\t") + "\n"], in: folder)
    }
    if let table6 { try Self.write(["ipv6_route": table6 + "\n"], in: folder) }
    #expect(DefaultRoute.exists(in: folder) == exists)
  }

  private static let zero = String(repeating: "0", count: 32)
}
