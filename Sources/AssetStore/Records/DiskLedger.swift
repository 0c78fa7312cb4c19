package import AssetModel
internal import GRDB
internal import LinuxSystem

/// What open jobs are promised of each volume.
package struct DiskLedger: Sendable {
  let database: StoreDatabase

  private static let promised =
    "SELECT CAST(total(rest) AS INTEGER), count(*) FROM jobs WHERE volume = ? AND \(JobRow.isOpen)"

  /// What is promised on the volume with this device number (stat(2)). A job's part is booked in the transaction that adds
  /// it, follows every commit, and ends when it is settled.
  package func reservation(device: UInt64) throws(StoreError) -> DiskReservation {
    try database.read { database in
      let query = try database.query(Self.promised)
      _ = try query.bind(bits: device).step()
      return DiskReservation(bytes: query.int64(), inodes: query.int64())
    }
  }

  /// Device numbers are given anew at every boot, and when a volume is mounted again.
  func refreshDevices() throws(StoreError) {
    let boot = BootIdentifier.current ?? ""
    let settings = StoreSettings(database: database)
    // Earlier ones wrote it with its line's end.
    guard try settings["boot"].map(BootIdentifier.text) != boot else { return }
    try database.write { database in
      let directories = try database.query("SELECT DISTINCT directory FROM jobs WHERE \(JobRow.isOpen)")
      var all: [[UInt8]] = []
      while try directories.step() { all.append(directories.blob()) }
      let update = try database.query("UPDATE jobs SET volume = ? WHERE directory = ? AND \(JobRow.isOpen)")
      for directory in all {
        let device = (try? Files.identity(of: String(decoding: directory, as: UTF8.self)))?.device
        try update.bind(bits: device).bind(directory).run()
      }
    }
    try settings.set("boot", to: boot)
  }
}
