internal import LinuxSystem

/// A power supply as the kernel shows it in /sys/class/power_supply (Documentation/ABI/testing/sysfs-class-power).
struct PowerSupply: Sendable, Equatable {
  /// "Battery", "UPS", "Mains", "USB", "Wireless".
  var type = ""
  /// It supplies a mouse or a headset, not the machine.
  var isOfDevice = false
  var isPresent = true
  var isOnline = false
  /// "Charging", "Discharging", "Not charging", "Full", "Unknown".
  var status = ""
  /// Percent.
  var capacity: Int?

  var isBattery: Bool { type == "Battery" || type == "UPS" }

  /// Those of a folder like /sys/class/power_supply, at most 64; what can't be read isn't there.
  static func all(in folder: String) -> [PowerSupply] {
    guard let names = try? Files.names(in: folder, atMost: 64) else { return [] }
    return names.sorted().map { read("\(folder)/\($0)") }
  }

  private static func read(_ folder: String) -> PowerSupply {
    func value(_ name: String) -> String? {
      (try? Files.text(of: "\(folder)/\(name)", limit: 64))?.split(whereSeparator: \.isNewline).first.map(String.init)
    }
    var supply = PowerSupply()
    supply.type = value("type") ?? ""
    supply.isOfDevice = value("scope") == "Device"
    supply.isPresent = value("present") != "0"
    // 2 is a supply whose voltage can be set.
    supply.isOnline = ["1", "2"].contains(value("online"))
    supply.status = value("status") ?? ""
    supply.capacity = value("capacity").flatMap { Int($0) }.flatMap { (0...100).contains($0) ? $0 : nil }
    return supply
  }
}
