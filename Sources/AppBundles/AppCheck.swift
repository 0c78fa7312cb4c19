internal import LinuxSystem
internal import PropertyLists

/// Holds an opened bundle against sections 3.1 to 3.3 of the specification.
struct AppCheck {
  let bundleName: String
  let isDevelopment: Bool
  private(set) var findings: [Finding] = []

  init(bundleName: String, isDevelopment: Bool) {
    self.bundleName = bundleName
    self.isDevelopment = isDevelopment
  }

  mutating func run(in bundle: borrowing BundleFolder) -> AppDescription? {
    // As on iOS, or as on macOS; a bundle that has both is taken for the former.
    let isDeep = !bundle.exists("Info.plist") && bundle.exists("Contents/Info.plist")
    let base = isDeep ? "Contents/" : ""
    let path = base + "Info.plist"
    var info: KeyReader?
    do throws(BundleFolder.ReadError) {
      info = KeyReader(try bundle.propertyList(path), file: path)
    } catch {
      findings.append(
        Finding(
          file: path, expected: "the app's property list (XML, binary or old-style) of at most 1 MiB",
          found: error.text, remedy: "make one with: outrider bundle create"))
    }
    guard var info else {
      _ = checkExtension(nil, [], base, bundle)
      return nil
    }
    let identity = Identity(&info, bundleName: bundleName)
    let executable = checkExecutable(&info, folder: isDeep ? "Contents/MacOS/" : "", bundle)
    let assets = AssetKeys(&info, isDevelopment: isDevelopment)
    let groups = GroupCheck.groups(in: bundle, folder: base, info: &info, groupID: assets.appGroupID)
    let hasGroupFinding = info.findings.contains { $0.key.hasPrefix(GroupCheck.key) }
    if groups.isEmpty, !assets.isManaged, !hasGroupFinding {
      info.report(
        GroupCheck.key, expected: "an array with at least one app group, whose folder takes the finished files",
        remedy:
          "list one in \(base)\(GroupCheck.fileName), for example group.\(identity.identifier ?? "com.example.app")")
    }
    findings += info.findings
    let found = checkExtension(identity.identifier, groups, base, bundle)
    guard let identifier = identity.identifier, let version = identity.version, let executable, let found,
      !findings.contains(where: { $0.severity == .error })
    else { return nil }
    return AppDescription(
      identifier: identifier, version: version, build: identity.build ?? version, name: identity.name,
      bundleName: bundleName, executable: executable, manifestURL: assets.manifestURL,
      restrictions: assets.restrictions, maxInstallSize: assets.maxInstallSize,
      essentialMaxInstallSize: assets.essentialMaxInstallSize, appGroups: groups, appGroupID: assets.appGroupID,
      isManaged: assets.isManaged, usesAppleHosting: assets.usesAppleHosting, extensionPath: found.path,
      extensionIdentifier: found.identifier, extensionAppGroups: found.groups)
  }

  private mutating func checkExtension(
    _ identifier: String?, _ groups: [String], _ base: String, _ bundle: borrowing BundleFolder
  ) -> ExtensionCheck.Found? {
    var check = ExtensionCheck(appIdentifier: identifier, appGroups: groups, base: base)
    let found = check.run(in: bundle)
    findings += check.findings
    return found
  }

  /// Its place within the bundle.
  private func checkExecutable(
    _ info: inout KeyReader, folder: String, _ bundle: borrowing BundleFolder
  ) -> String? {
    let key = "CFBundleExecutable"
    guard let name = info.text(key, expected: "the name of the app's executable", where: BundleNames.isFileName) else {
      return nil
    }
    let path = folder + name
    let expected = "an executable file"
    do throws(BundleFolder.ReadError) {
      let identity = try bundle.identity(of: path)
      guard identity.isRegularFile else { throw .isOther(FileKind(identity).rawValue) }
      guard identity.mode & 0o111 != 0 else {
        info.findings.append(
          Finding(
            file: path, expected: expected, found: "a file that isn't executable", remedy: "chmod +x \(path)"))
        return nil
      }
      return path
    } catch {
      info.findings.append(
        Finding(file: path, expected: expected, found: error.text, remedy: "put it there, or correct \(key)"))
      return nil
    }
  }

  /// What the app is called.
  private struct Identity {
    var identifier: String?
    var version: String?
    var build: String?
    var name: String

    init(_ info: inout KeyReader, bundleName: String) {
      identifier = info.text(
        "CFBundleIdentifier", expected: "an identifier such as com.example.app: \(BundleNames.identifierRule)",
        where: BundleNames.isIdentifier)
      func version(_ key: String) -> String? {
        info.text(
          key, expected: "a version such as 1.2: \(BundleNames.versionRule)", isRequired: false,
          where: BundleNames.isVersion)
      }
      let hasVersion = info.has("CFBundleShortVersionString") || info.has("CFBundleVersion")
      let short = version("CFBundleShortVersionString")
      build = version("CFBundleVersion")
      self.version = short ?? build ?? (hasVersion ? nil : "1")
      func name(_ key: String) -> String? {
        info.text(key, expected: "a name of at most 255 bytes without control characters", isRequired: false) {
          $0.utf8.count <= 255 && BundleNames.isPlain($0)
        }
      }
      let display = name("CFBundleDisplayName")
      let plain = name("CFBundleName")
      self.name = display ?? plain ?? String(bundleName.dropLast(".app".count))
    }
  }
}
