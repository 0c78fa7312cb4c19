// swift-format-ignore-file: AlwaysUseLowerCamelCase

// Where Apple's Foundation says that files belong, how much room there is for them, and what time it is.

extension URL {
  /// In an extension, these are in the home folder of its wake: what is to stay belongs in the container of an app group.
  public static var documentsDirectory: URL { place(.documentDirectory, "Documents") }
  /// What an app keeps beside its user's documents; `Library` in the home folder where Foundation knows no place.
  public static var libraryDirectory: URL { place(.libraryDirectory, "Library") }
  /// What can be made again; `.cache` in the home folder where Foundation knows no place.
  public static var cachesDirectory: URL { place(.cachesDirectory, ".cache") }
  /// What an app needs to work; `.local/share` in the home folder where Foundation knows no place. It isn't created.
  public static var applicationSupportDirectory: URL { place(.applicationSupportDirectory, ".local/share") }

  /// Linux has no place for some.
  private static func place(_ directory: FileManager.SearchPathDirectory, _ otherwise: String) -> URL {
    guard let known = FileManager.default.urls(for: directory, in: .userDomainMask).first else {
      return homeDirectory.appendingPathComponent(otherwise, isDirectory: true)
    }
    return URL(fileURLWithPath: known.path, isDirectory: true)
  }
}

extension URLResourceKey {
  /// Linux purges nothing to make room, so that all three capacities are one.
  public static var volumeAvailableCapacityForImportantUsageKey: URLResourceKey { .volumeAvailableCapacityKey }
  /// The key of the space that is free for what can wait.
  public static var volumeAvailableCapacityForOpportunisticUsageKey: URLResourceKey { .volumeAvailableCapacityKey }
}

extension URLResourceValues {
  /// Bytes that are free on the volume.
  public var volumeAvailableCapacityForImportantUsage: Int64? { volumeAvailableCapacity.map(Int64.init) }
  /// Bytes that are free on the volume.
  public var volumeAvailableCapacityForOpportunisticUsage: Int64? { volumeAvailableCapacity.map(Int64.init) }
}

/// Seconds.
public typealias CFTimeInterval = Double
/// Seconds since the beginning of 2001, UTC.
public typealias CFAbsoluteTime = CFTimeInterval

/// Seconds since the beginning of 2001.
///
/// - Returns: Seconds, with a fraction.
public func CFAbsoluteTimeGetCurrent() -> CFAbsoluteTime { Date.timeIntervalSinceReferenceDate }
