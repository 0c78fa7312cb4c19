internal import PropertyLists

/// The app groups that a bundle declares (L16): those of `entitlements.plist` beside its `Info.plist`; without that file, those
/// of the same key in `Info.plist`, and of `BAAppGroupID`.
enum GroupCheck {
  static let key = "com.apple.security.application-groups"
  static let fileName = "entitlements.plist"
  private static let expectation = "an array of app groups"

  /// - Parameter folder: of the `Info.plist`, within the bundle, empty or with a slash at its end.
  static func groups(
    in bundle: borrowing BundleFolder, folder: String, info: inout KeyReader, groupID: String?
  ) -> [String] {
    let path = folder + fileName
    var list: PropertyList?
    do throws(BundleFolder.ReadError) {
      list = try bundle.propertyList(path)
    } catch {
      if error != .missing {
        info.findings.append(Finding(file: path, expected: "a property list of entitlements", found: error.text))
        return []
      }
    }
    guard let list else {
      let own = read(&info)
      return Set(own + (groupID.map { [$0] } ?? [])).sorted()
    }
    var entitlements = KeyReader(list, file: path)
    let groups = Set(read(&entitlements)).sorted()
    info.findings += entitlements.findings
    if let groupID, !groups.contains(groupID) {
      info.report(
        "BAAppGroupID", expected: "one of the groups in \(path)", remedy: "add \(groupID) to \(key) in \(path)")
    }
    return groups
  }

  private static func read(_ reader: inout KeyReader) -> [String] {
    reader.texts(
      key, expected: expectation, element: "an app group: \(BundleNames.identifierRule)", where: BundleNames.isGroup)
      ?? []
  }
}
