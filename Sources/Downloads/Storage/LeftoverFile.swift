package import AssetModel
package import LinuxSystem

/// The partial file that a failed download keeps for the next one of its name.
package enum LeftoverFile {
  /// Nothing happens where none is there. What another process has in hand stays.
  package static func remove(_ record: JobRecord) throws(SystemCallError) {
    guard let name = record.partial?.stagingName, Files.exists(record.specification.directory) else { return }
    let specification = record.specification
    // Empty folders go with it.
    let lease = try StagingLease(specification.directory, app: specification.app)
    defer { lease.end() }
    try Destination(specification.directory, app: specification.app, files: SystemFiles()).removeStaging(name)
  }
}
