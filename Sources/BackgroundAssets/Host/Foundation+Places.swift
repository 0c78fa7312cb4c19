// swift-format-ignore-file: AlwaysUseLowerCamelCase

// Where Apple's Foundation says that files belong, how much room there is for them, and what time it is.

extension URL {
  /// In an extension, these are in the home folder of its wake: what is to stay belongs in the container of an app group.
  public static var documentsDirectory: URL { place(.documentDirectory, "Documents") }
  public static var libraryDirectory: URL { place(.libraryDirectory, "Library") }
  public static var cachesDirectory: URL { place(.cachesDirectory, ".cache") }
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
  public static var volumeAvailableCapacityForOpportunisticUsageKey: URLResourceKey { .volumeAvailableCapacityKey }
}

extension URLResourceValues {
  public var volumeAvailableCapacityForImportantUsage: Int64? { volumeAvailableCapacity.map(Int64.init) }
  public var volumeAvailableCapacityForOpportunisticUsage: Int64? { volumeAvailableCapacity.map(Int64.init) }
}

public typealias CFTimeInterval = Double
public typealias CFAbsoluteTime = CFTimeInterval

/// Seconds since the beginning of 2001.
public func CFAbsoluteTimeGetCurrent() -> CFAbsoluteTime { Date.timeIntervalSinceReferenceDate }
