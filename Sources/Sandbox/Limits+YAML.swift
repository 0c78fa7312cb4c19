package import StrictYAML
package import Yams

extension YAMLNodes {
  package static let limitKeys = ["wall", "cpu", "memory", "openFiles", "fileSize", "threads", "logBytes"]

  /// `limits` with what the map says in their place.
  package func limits(_ node: Node, over limits: Limits = Limits()) throws(YAMLFileError) -> Limits {
    var limits = limits
    for (key, value) in try pairs(node, "limits", known: Self.limitKeys) {
      let what = "limits.\(key)"
      switch key {
      case "wall": limits.wallTime = try duration(value, what)
      case "cpu": limits.cpu = try duration(value, what)
      case "memory": limits.memory = try bytes(value, what)
      case "openFiles": limits.openFiles = try integer(value, what, Limits.openFilesRange)
      case "fileSize": limits.fileSize = try bytes(value, what)
      case "threads": limits.threads = try integer(value, what, Limits.threadsRange)
      default: limits.logBytes = try bytes(value, what)
      }
    }
    return limits
  }
}

extension Limits {
  /// Whether the limit of that name in policies is beyond another's.
  func exceeds(_ other: Limits, in key: String) -> Bool {
    switch key {
    case "wall": wallTime > other.wallTime
    case "cpu": cpu > other.cpu
    case "memory": memory > other.memory
    case "openFiles": openFiles > other.openFiles
    case "fileSize": fileSize > other.fileSize
    case "threads": threads > other.threads
    default: logBytes > other.logBytes
    }
  }

  /// With the limits of these names as another has them.
  package func taking(_ keys: Set<String>, from other: Limits) -> Limits {
    var limits = self
    for key in keys {
      switch key {
      case "wall": limits.wallTime = other.wallTime
      case "cpu": limits.cpu = other.cpu
      case "memory": limits.memory = other.memory
      case "openFiles": limits.openFiles = other.openFiles
      case "fileSize": limits.fileSize = other.fileSize
      case "threads": limits.threads = other.threads
      default: limits.logBytes = other.logBytes
      }
    }
    return limits
  }
}
