import Foundation
import Glibc
import LinuxSystem
import TestSupport

@testable import AppBundles

/// A folder of a test's own, removed with it.
final class Scratch: Sendable {
  let path: String

  init() throws { path = try Files.temporaryDirectory(in: ProcessFolder.path, prefix: "bundles-") }
  deinit { Files.removeTree(path) }

  /// Everything below a folder, sorted; links with where they lead.
  static func tree(_ folder: String) -> [String] {
    (FileManager.default.enumerator(atPath: folder)?.allObjects as? [String] ?? []).sorted().map { name in
      Files.link("\(folder)/\(name)").map { "\(name) -> \($0)" } ?? name
    }
  }
}

/// An app that has nothing wrong, for tests to change.
struct SampleApp {
  typealias List = [String: Any]

  var info: List = [
    "CFBundleIdentifier": "com.example.sessions", "CFBundleExecutable": "Sessions",
    "CFBundleShortVersionString": "1.2", "CFBundleVersion": "7", "CFBundleName": "Sessions",
    "BAManifestURL": "https://assets.example.com/manifest.json",
    "BAInitialDownloadRestrictions": restrictions, "BAMaxInstallSize": 1000, "BAEssentialMaxInstallSize": 100,
  ]
  var entitlements: List? = ["com.apple.security.application-groups": ["group.com.example.sessions"]]
  var extensionInfo: List = [
    "CFBundleIdentifier": "com.example.sessions.downloader", "CFBundleExecutable": "Downloader.so",
    "EXAppExtensionAttributes": ["EXExtensionPointIdentifier": "com.apple.background-asset-downloader-extension"],
  ]
  var extensionEntitlements: List?
  var executable: Data? = Data("#!/bin/sh\n".utf8)
  var library: Data? = SampleApp.sharedLibrary
  var isDeep = false
  var format = PropertyListSerialization.PropertyListFormat.xml
  var appexName = "Downloader.appex"

  static var restrictions: List {
    [
      "BADownloadAllowance": 1000, "BAEssentialDownloadAllowance": 100,
      "BADownloadDomainAllowList": ["assets.example.com", "*.Example.net"],
    ]
  }

  /// One for this machine.
  #if arch(x86_64)
    static let sharedLibrary = sharedLibrary(machine: 62)
  #else
    static let sharedLibrary = sharedLibrary(machine: 183)
  #endif

  /// The header of one (elf(5)).
  static func sharedLibrary(machine: UInt8) -> Data {
    Data(
      [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, machine, 0]
        + [UInt8](repeating: 0, count: 100))
  }

  init() {}

  init(identifier: String, version: String = "1.2", groups: [String]? = nil) {
    info["CFBundleIdentifier"] = identifier
    info["CFBundleShortVersionString"] = version
    extensionInfo["CFBundleIdentifier"] = identifier + ".downloader"
    entitlements = ["com.apple.security.application-groups": groups ?? ["group.\(identifier)"]]
  }

  /// - Returns: the bundle's path.
  @discardableResult
  func write(in folder: String, name: String = "Sessions.app") throws -> String {
    let bundle = "\(folder)/\(name)"
    let base = isDeep ? "\(bundle)/Contents" : bundle
    let appex = "\(base)/Extensions/\(appexName)"
    try Files.makeDirectories(appex, mode: 0o755)
    try Self.write(info, to: "\(base)/Info.plist", format)
    if let entitlements { try Self.write(entitlements, to: "\(base)/entitlements.plist", format) }
    try Self.write(extensionInfo, to: "\(appex)/Info.plist", format)
    if let extensionEntitlements { try Self.write(extensionEntitlements, to: "\(appex)/entitlements.plist", format) }
    if isDeep { try Files.makeDirectories("\(base)/MacOS", mode: 0o755) }
    if let executable {
      let path = isDeep ? "\(base)/MacOS/Sessions" : "\(base)/Sessions"
      try executable.write(to: URL(fileURLWithPath: path))
      chmod(path, 0o755)
    }
    if let library { try library.write(to: URL(fileURLWithPath: "\(appex)/Downloader.so")) }
    return bundle
  }

  static func write(_ list: List, to path: String, _ format: PropertyListSerialization.PropertyListFormat) throws {
    let data =
      format == .openStep
      ? Data(oldStyle(list).utf8)
      : try PropertyListSerialization.data(fromPropertyList: list, format: format, options: 0)
    try data.write(to: URL(fileURLWithPath: path))
  }

  /// Foundation reads the old format and doesn't write it.
  static func oldStyle(_ value: Any) -> String {
    switch value {
    case let list as List: "{" + list.map { "\"\($0)\" = \(oldStyle($1));" }.joined(separator: "\n") + "}"
    case let array as [Any]: "(" + array.map(oldStyle).joined(separator: ", ") + ")"
    case let text as String: "\"\(text)\""
    default: "\(value)"
    }
  }

  /// Checked and removed.
  func findings(isDevelopment: Bool = false, _ change: (String) throws -> Void = { _ in }) throws -> (
    AppDescription?, [Finding]
  ) {
    let scratch = try Scratch()
    let bundle = try write(in: scratch.path)
    try change(bundle)
    return withExtendedLifetime(scratch) { AppBundle.check(at: bundle, isDevelopment: isDevelopment) }
  }
}

extension [Finding] {
  var errors: [Finding] { filter { $0.severity == .error } }
  var warnings: [Finding] { filter { $0.severity == .warning } }
  var keys: [String] { map { $0.key.isEmpty ? $0.file : $0.key } }
  func about(_ key: String) -> Finding? { first { $0.key == key || $0.key.isEmpty && $0.file == key } }
}
