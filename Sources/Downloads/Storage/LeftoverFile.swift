package import AssetModel
package import LinuxSystem

/// The partial file that a failed download keeps for the next one of its name.
package enum LeftoverFile {
  /// Nothing happens where none is there. A file that another process writes to stays.
  package static func remove(_ record: JobRecord) throws(SystemCallError) {
    guard let name = record.partial?.stagingName, Files.exists(record.specification.directory) else { return }
    let specification = record.specification
    // Empty folders go with it.
    let lease = try StagingLease(specification.directory, app: specification.app)
    defer { lease.end() }
    try Destination(specification.directory, app: specification.app, files: SystemFiles()).removeStaging(name)
  }

  /// What a download has written that its journal has no checkpoint of yet. `owner`: that of the journal's files
  /// (`EngineOptions.stagingOwner`).
  package static func removeUnrecorded(of record: JobRecord, owner: String) throws(SystemCallError) {
    let specification = record.specification
    guard StagingLease.hasFolder(specification.directory) else { return }
    let lease = try StagingLease(specification.directory, app: specification.app)
    defer { lease.end() }
    let destination = try Destination(specification.directory, app: specification.app, files: SystemFiles())
    var options = EngineOptions()
    options.stagingOwner = owner
    for name in options.stagingNames(specification, upTo: record.generation) { destination.removeStaging(name) }
  }
}
