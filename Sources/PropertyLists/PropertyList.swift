internal import Foundation

/// A property list from anywhere: held against bounds before Foundation decodes it.
package struct PropertyList {
  package enum ReadError: Error, Equatable, CustomStringConvertible {
    case malformed
    /// What Foundation says of it.
    case undecodable(String)
    case notUTF8
    case notADictionary
    case tooLong
    case tooLarge
    case tooDeep
    case tooManyContainers

    package var description: String {
      switch self {
      case .malformed: "not a property list"
      case .undecodable(let detail): "not a property list: \(detail)"
      case .notUTF8: "the property list isn't UTF-8 text, and only that and the binary format are read"
      case .notADictionary: "the property list isn't a dictionary"
      case .tooLong: "the property list has more than \(maxBytes >> 20) MiB"
      case .tooLarge:
        "the property list stands for more than \(BinaryPropertyList.maxVisits) objects or \(BinaryPropertyList.maxBytes >> 20) MiB"
      case .tooDeep: "the property list is nested deeper than \(maxDepth) levels"
      case .tooManyContainers:
        "the property list has more than \(TextPropertyList.maxOldStyleContainers) arrays and dictionaries in the old format"
      }
    }
  }

  package static let maxBytes = 1 << 20
  package static let maxDepth = 64

  package var root: [String: Any]
  /// The old format knows strings alone: numbers and truth values are written as such.
  package var isOldStyle: Bool

  package init(_ bytes: [UInt8]) throws(ReadError) {
    guard bytes.count <= Self.maxBytes else { throw .tooLong }
    if bytes.starts(with: Array("bplist".utf8)) {
      try BinaryPropertyList.check(bytes)
    } else {
      try TextPropertyList.check(bytes)
    }
    var format = PropertyListSerialization.PropertyListFormat.xml
    let decoded: Any
    do {
      decoded = try PropertyListSerialization.propertyList(from: Data(bytes), format: &format)
    } catch {
      guard let detail = (error as NSError).userInfo["NSDebugDescription"] as? String else { throw .malformed }
      throw .undecodable(detail)
    }
    guard let root = decoded as? [String: Any] else { throw .notADictionary }
    self.root = root
    isOldStyle = format == .openStep
  }
}
