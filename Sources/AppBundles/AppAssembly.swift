internal import Basics
internal import CLinux
internal import Foundation
internal import Glibc
internal import LinuxSystem
internal import PropertyLists

/// What an app is made of, by paths.
package struct AppParts: Sendable {
  package var executable: String
  /// A shared library, or an `.appex` folder that is complete.
  package var `extension`: String
  /// A property list, or a YAML file with the keys that `outrider bundle create --help` lists.
  package var info: String
  /// A property list with the app's groups, as Xcode keeps it; nil: those of `info`.
  package var entitlements: String?

  package init(executable: String, extension: String, info: String, entitlements: String? = nil) {
    self.executable = executable
    self.extension = `extension`
    self.info = info
    self.entitlements = entitlements
  }
}

extension AppBundle {
  /// Puts an app together, in the layout of iOS. It is checked before it gets its name, and nothing is left of one that isn't
  /// right. Blocks; any thread may call it.
  ///
  /// - Parameters:
  ///   - path: where the app is to be, for example `build/Sessions.app`.
  ///   - isReplacing: what has that name already is removed; otherwise that is an error.
  /// - Returns: what the app is, and the warnings.
  package static func create(
    at path: String, from parts: AppParts, isDevelopment: Bool = false, isReplacing: Bool = false
  ) throws(BundleError) -> (AppDescription, [Finding]) {
    try AppAssembly(path: path, parts: parts, isDevelopment: isDevelopment).run(isReplacing: isReplacing)
  }
}

struct AppAssembly {
  private let path: String
  private let name: String
  private let folder: String
  private let parts: AppParts
  private let isDevelopment: Bool
  private let limits = BundleLimits()

  init(path: String, parts: AppParts, isDevelopment: Bool) throws(BundleError) {
    let trimmed =
      path.utf8.count > 1 && path.utf8.last == UInt8(ascii: "/") ? String(path.utf8.dropLast()) ?? path : path
    name = trimmed.pathNames.last ?? ""
    guard BundleNames.isBundle(name, suffix: ".app") else {
      throw BundleError(.notABundle, path, "isn't the name of an app", remedy: "name it, for example, Sessions.app")
    }
    let above = String(trimmed.dropLast(name.count))
    if !above.isEmpty, Files.isNamed(above) == false {
      throw BundleError(
        .systemRefused, path, "can't be made: there is no folder \(String(above.dropLast()))", remedy: "make it first")
    }
    folder = try BundleError.translating(path) { () throws(SystemCallError) in
      try Files.real(above.isEmpty ? "." : above)
    }
    self.path = "\(folder)/\(name)"
    self.parts = parts
    self.isDevelopment = isDevelopment
  }

  func run(isReplacing: Bool) throws(BundleError) -> (AppDescription, [Finding]) {
    if !isReplacing, Files.isNamed(path) != false { throw alreadyThere }
    let place = try BundleError.translating(path) { () throws(SystemCallError) in
      try Files.temporaryDirectory(in: folder, prefix: ".\(name)-")
    }
    defer { Files.removeTree(place) }
    let bundle = "\(place)/\(name)"
    try makeFolder(bundle)
    try fill(bundle)
    let (description, findings) = AppBundle.check(at: bundle, isDevelopment: isDevelopment, limits: limits)
    guard let description else {
      let count = findings.count { $0.severity == .error }
      throw BundleError(
        .invalid, path, "wasn't made: \(count) \(count == 1 ? "error" : "errors")", findings: findings)
    }
    try BundleError.translating(path) { () throws(SystemCallError) in
      if isReplacing, rename(path, "\(place)/former") != 0, errno != ENOENT {
        throw SystemCallError("rename", code: errno, subject: path)
      }
      try check("rename", path) { ol_rename_exclusive(AT_FDCWD, bundle, AT_FDCWD, path) }
    }
    return (description, findings)
  }

  private var alreadyThere: BundleError {
    BundleError(.systemRefused, path, "is there already", remedy: "remove it, or replace it with --force")
  }

  private func fill(_ bundle: String) throws(BundleError) {
    var info: [String: Any]
    var groups: [String]?
    var extensionIdentifier: String?
    if ["yaml", "yml"].contains((parts.info as NSString).pathExtension.lowercased()) {
      let bytes = try read(parts.info)
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw BundleError(.invalid, parts.info, "isn't UTF-8 text")
      }
      let recipe = try AppRecipe(parsing: text, file: parts.info)
      (info, groups, extensionIdentifier) = (recipe.info, recipe.appGroups, recipe.extensionIdentifier)
    } else {
      info = try propertyList(parts.info)
    }
    let executable = try copyFile(parts.executable, into: bundle, isExecutable: true)
    info["CFBundleExecutable"] = executable
    info["CFBundlePackageType"] = info["CFBundlePackageType"] ?? "APPL"
    info["CFBundleInfoDictionaryVersion"] = info["CFBundleInfoDictionaryVersion"] ?? "6.0"
    try write(info, to: "\(bundle)/Info.plist")
    if let entitlements = parts.entitlements {
      guard groups == nil else {
        throw BundleError(
          .invalid, parts.info, "names app groups, and so do the entitlements", remedy: "leave one of them out")
      }
      try write(try propertyList(entitlements), to: "\(bundle)/\(GroupCheck.fileName)")
    } else if let groups {
      try write([GroupCheck.key: groups], to: "\(bundle)/\(GroupCheck.fileName)")
    }
    let identifier = info["CFBundleIdentifier"] as? String ?? ""
    try addExtension(
      to: bundle, identifier: extensionIdentifier ?? "\(identifier).downloader",
      version: info["CFBundleShortVersionString"] ?? info["CFBundleVersion"] ?? "1")
  }

  private func addExtension(to bundle: String, identifier: String, version: Any) throws(BundleError) {
    let source = parts.extension
    let name = ((source as NSString).standardizingPath as NSString).lastPathComponent
    try makeFolder("\(bundle)/Extensions")
    var isFolder: ObjCBool = false
    if FileManager.default.fileExists(atPath: source, isDirectory: &isFolder), isFolder.boolValue {
      guard name.hasSuffix(".appex") else {
        throw BundleError(.notABundle, source, "is neither a shared library nor an .appex folder")
      }
      try makeFolder("\(bundle)/Extensions/\(name)")
      return try TreePass.copy(source, to: "\(bundle)/Extensions/\(name)", limits: limits)
    }
    let stem = (name as NSString).deletingPathExtension
    let folder = "\(bundle)/Extensions/\(stem.isEmpty ? "Extension" : stem).appex"
    try makeFolder(folder)
    let library = try copyFile(source, into: folder, isExecutable: false)
    let info: [String: Any] = [
      "CFBundleExecutable": library, "CFBundleIdentifier": identifier, "CFBundleName": stem,
      "CFBundlePackageType": "XPC!", "CFBundleShortVersionString": version, "CFBundleInfoDictionaryVersion": "6.0",
      "EXAppExtensionAttributes": ["EXExtensionPointIdentifier": ExtensionCheck.requiredPoint],
    ]
    try write(info, to: "\(folder)/Info.plist")
  }

  private func makeFolder(_ path: String) throws(BundleError) {
    try BundleError.translating(self.path) { () throws(SystemCallError) in
      try checkErrno("mkdir", path) { mkdir(path, 0o755) }
    }
  }

  private func read(_ path: String) throws(BundleError) -> [UInt8] {
    try BundleError.translating(path) { () throws(SystemCallError) in
      try Files.content(of: path, limit: PropertyList.maxBytes)
    }
  }

  private func propertyList(_ path: String) throws(BundleError) -> [String: Any] {
    let bytes = try read(path)
    do throws(PropertyList.ReadError) {
      return Self.typed(try PropertyList(bytes))
    } catch {
      throw BundleError(.invalid, path, error.description)
    }
  }

  /// The old format has numbers and truth values as text; what is written has them as what they stand for.
  private static func typed(_ list: PropertyList) -> [String: Any] {
    guard list.isOldStyle else { return list.root }
    var root = list.root
    for key in AppKeys.sizes { root[key] = number(root[key]) }
    for key in AppKeys.flags {
      if let text = (root[key] as? String)?.lowercased() { root[key] = ["yes", "true", "1"].contains(text) }
    }
    if var inner = root[AppKeys.restrictions] as? [String: Any] {
      for key in [AppKeys.allowance, AppKeys.essentialAllowance] { inner[key] = number(inner[key]) }
      root[AppKeys.restrictions] = inner
    }
    return root
  }

  private static func number(_ value: Any?) -> Any? { (value as? String).flatMap { Int64($0) } ?? value }

  private func write(_ list: [String: Any], to path: String) throws(BundleError) {
    let bytes: [UInt8]
    do throws(WrittenPropertyList.WriteError) {
      bytes = try WrittenPropertyList.xml(list)
    } catch {
      throw BundleError(.invalid, path.lastPathName, error.description)
    }
    try BundleError.translating(path) { () throws(SystemCallError) in
      let file = try OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o644)
      try file.write(String(decoding: bytes, as: UTF8.self))
    }
  }

  /// - Returns: its name.
  private func copyFile(_ source: String, into folder: String, isExecutable: Bool) throws(BundleError) -> String {
    let name = (source as NSString).lastPathComponent
    guard BundleNames.isFileName(name), !["Info.plist", "Extensions", GroupCheck.fileName].contains(name) else {
      throw BundleError(.invalid, source, "has a name that a bundle can't have at this place", remedy: "rename it")
    }
    try BundleError.translating(source) { () throws(SystemCallError) in
      let file = try OwnedDescriptor.open(source, O_RDONLY | O_NONBLOCK)
      let identity = try file.identity()
      guard identity.isRegularFile else { throw SystemCallError("open", code: EINVAL, subject: source) }
      let mode: UInt32 = isExecutable ? 0o755 : 0o644
      let copy = try OwnedDescriptor.open("\(folder)/\(name)", O_WRONLY | O_CREAT | O_EXCL, mode: mode)
      try FileCopy.copy(file.number, to: copy.number, count: identity.size)
    }
    return name
  }
}
