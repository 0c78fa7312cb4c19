internal import AssetModel

/// A volume that has too little room for a download. Bytes.
public struct SpaceShortage: Sendable, Hashable, CustomStringConvertible {
  /// The directory that the download's file goes to.
  public var directory: String
  /// The volume's device number (stat(2)).
  public var device: UInt64
  /// What the download has still to write.
  public var need: Int64
  /// What is free on the volume now.
  public var free: Int64
  /// What always stays free.
  public var floor: Int64
  /// Purging may stop when so much is free.
  public var purgeUntil: Int64

  /// It isn't bytes that it lacks: no file can be made.
  public var lacksInodes = false
  /// It is a background download: none starts while less than this is free.
  public var backgroundFloor: Int64?
  /// What other downloads, which run, have still to write on the volume.
  public var reserved: Int64 = 0

  /// Bytes to free before the download goes on.
  public var missing: Int64 { max(0, need + floor - free, (backgroundFloor ?? 0) - free) }
  /// In the foreground it could start now.
  var isOfBackground: Bool { need <= free - floor && free < backgroundFloor ?? 0 }

  public var description: String {
    let volume = "the volume of \(Printable.text(directory))"
    if lacksInodes { return "\(volume) has no inodes left: it takes no further file" }
    if isOfBackground, let backgroundFloor {
      return "\(volume) has \(free) bytes free: no background download starts below \(backgroundFloor)"
    }
    if missing == 0, reserved > 0 { return "\(volume) has \(free) bytes free, of which others need \(reserved)" }
    if missing == 0 { return "\(volume) refuses \(need) bytes, though \(free) are free: perhaps a quota" }
    return "\(volume) lacks \(missing) bytes: \(need) are needed, \(floor) stay free, \(free) are free"
  }
}

/// A change of a volume that downloads go to; told once.
public enum VolumeReport: Sendable, Equatable {
  /// Less than twice the floor is free: no background download starts. Apps may want to delete something by themselves.
  case low(directory: String, free: Int64)
  case short(SpaceShortage)
  /// Read-only, broken or gone: all its downloads stopped.
  case failing(directory: String, errno: Int32)
  case plenty(directory: String)
}
