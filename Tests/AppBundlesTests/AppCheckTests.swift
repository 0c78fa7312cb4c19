import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

@testable import AppBundles

/// Sections 3.1 to 3.3 of the specification, L9 and L16.
@Suite(.timeLimit(.minutes(2))) struct AppCheckTests {
  private static let groups = "com.apple.security.application-groups"

  @Test(
    "An app with nothing wrong is described",
    arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary, .openStep], [false, true])
  func goodApp(format: PropertyListSerialization.PropertyListFormat, isDeep: Bool) throws {
    var app = SampleApp()
    app.format = format
    app.isDeep = isDeep
    let (description, findings) = try app.findings()
    #expect(findings == [])
    let base = isDeep ? "Contents/" : ""
    #expect(
      description
        == AppDescription(
          identifier: "com.example.sessions", version: "1.2", build: "7", name: "Sessions", bundleName: "Sessions.app",
          executable: isDeep ? "Contents/MacOS/Sessions" : "Sessions",
          manifestURL: "https://assets.example.com/manifest.json",
          restrictions: InitialRestrictions(
            downloadAllowance: 1000, essentialDownloadAllowance: 100,
            allowedDomains: ["assets.example.com", "*.example.net"]), maxInstallSize: 1000,
          essentialMaxInstallSize: 100, appGroups: ["group.com.example.sessions"], appGroupID: nil, isManaged: false,
          usesAppleHosting: false, extensionPath: "\(base)Extensions/Downloader.appex",
          extensionIdentifier: "com.example.sessions.downloader", extensionAppGroups: ["group.com.example.sessions"]))
  }

  @Test("A description survives being kept")
  func coding() throws {
    let description = try #require(try SampleApp().findings().0)
    #expect(try JSONDecoder().decode(AppDescription.self, from: JSONEncoder().encode(description)) == description)
  }

  /// A key, what is put there, whether within the restrictions, and what is found.
  struct Change: Sendable, CustomTestStringConvertible {
    var key: String
    /// As JSON; empty: the key is absent.
    var value: String
    var isInner = false
    var found: String
    var testDescription: String { "\(key) = \(value.isEmpty ? "nothing" : value)" }
  }

  static let wrong: [Change] = [
    Change(key: "CFBundleIdentifier", value: "", found: "nothing"),
    Change(key: "CFBundleIdentifier", value: "5", found: "the number 5"),
    Change(key: "CFBundleIdentifier", value: "\"../x\"", found: "'../x'"),
    Change(key: "CFBundleIdentifier", value: "\".hidden\"", found: "'.hidden'"),
    Change(key: "CFBundleIdentifier", value: "\"a/b\"", found: "'a/b'"),
    Change(key: "CFBundleExecutable", value: "", found: "nothing"),
    Change(key: "CFBundleExecutable", value: "\"../../bin/sh\"", found: "'../../bin/sh'"),
    Change(key: "CFBundleShortVersionString", value: "\"1/2\"", found: "'1/2'"),
    Change(key: "CFBundleShortVersionString", value: "\"current\"", found: "'current'"),
    Change(key: "CFBundleShortVersionString", value: "1.5", found: "the number 1.5"),
    Change(key: "CFBundleVersion", value: "\"1~2\"", found: "'1~2'"),
    Change(key: "CFBundleName", value: "\"a\\u0007b\"", found: "'a\\u{7}b'"),
    Change(key: "BAManifestURL", value: "", found: "nothing"),
    Change(key: "BAManifestURL", value: "\"http://assets.example.com/m\"", found: "'http://assets.example.com/m'"),
    Change(key: "BAManifestURL", value: "\"http://localhost/m\"", found: "'http://localhost/m'"),
    Change(key: "BAManifestURL", value: "\"file:///etc/passwd\"", found: "'file:///etc/passwd'"),
    Change(key: "BAManifestURL", value: "\"https://\"", found: "'https://'"),
    Change(key: "BAManifestURL", value: "\"https://a@b/m\"", found: "'https://a@b/m'"),
    Change(key: "BAManifestURL", value: "\"https://a:99999/m\"", found: "'https://a:99999/m'"),
    Change(key: "BAManifestURL", value: "\"https://a b/m\"", found: "'https://a b/m'"),
    Change(key: "BAManifestURL", value: "true", found: "true"),
    Change(key: "BAInitialDownloadRestrictions", value: "", found: "nothing"),
    Change(key: "BAInitialDownloadRestrictions", value: "[]", found: "an array of 0 elements"),
    Change(key: "BADownloadAllowance", value: "", isInner: true, found: "nothing"),
    Change(key: "BADownloadAllowance", value: "-1", isInner: true, found: "the number -1"),
    Change(key: "BADownloadAllowance", value: "\"1000\"", isInner: true, found: "'1000'"),
    Change(key: "BADownloadAllowance", value: "true", isInner: true, found: "true"),
    Change(key: "BADownloadAllowance", value: "1.5", isInner: true, found: "the number 1.5"),
    Change(key: "BADownloadAllowance", value: "1e300", isInner: true, found: "the number 1e+300"),
    Change(key: "BAEssentialDownloadAllowance", value: "", isInner: true, found: "nothing"),
    Change(key: "BADownloadDomainAllowList", value: "", isInner: true, found: "nothing"),
    Change(key: "BADownloadDomainAllowList", value: "\"a.example\"", isInner: true, found: "'a.example'"),
    Change(
      key: "BADownloadDomainAllowList[1]", value: "[\"a.example\", \"https://b\"]", isInner: true, found: "'https://b'"),
    Change(key: "BADownloadDomainAllowList[0]", value: "[\"*\"]", isInner: true, found: "'*'"),
    Change(key: "BADownloadDomainAllowList[0]", value: "[\"a.*.example\"]", isInner: true, found: "'a.*.example'"),
    Change(key: "BADownloadDomainAllowList[0]", value: "[3]", isInner: true, found: "the number 3"),
    Change(key: "BAMaxInstallSize", value: "\"big\"", found: "'big'"),
    Change(key: "BAEssentialMaxInstallSize", value: "-5", found: "the number -5"),
    Change(key: "BAHasManagedAssetPacks", value: "1", found: "the number 1"),
    Change(key: "BAUsesAppleHosting", value: "\"yes\"", found: "'yes'"),
    Change(key: "BAAppGroupID", value: "\"group/x\"", found: "'group/x'"),
    Change(key: "BAAppGroupID", value: "\"group.other\"", found: "'group.other'"),
  ]

  @Test("3.3: a key that is missing or wrong is the one error, with what was expected and found", arguments: wrong)
  func wrongKey(change: Change) throws {
    var app = SampleApp()
    let key = String(change.key.prefix { $0 != "[" })
    let value =
      change.value.isEmpty
      ? nil : try JSONSerialization.jsonObject(with: Data(change.value.utf8), options: .fragmentsAllowed)
    if change.isInner {
      var inner = SampleApp.restrictions
      inner[key] = value
      app.info["BAInitialDownloadRestrictions"] = inner
    } else {
      app.info[key] = value
    }
    let (description, findings) = try app.findings()
    #expect(description == nil)
    let full = (change.isInner ? "BAInitialDownloadRestrictions." : "") + change.key
    let finding = try #require(findings.errors.about(full), "\(findings)")
    #expect(finding.found == change.found)
    #expect(!finding.expected.isEmpty)
    #expect(finding.file == "Info.plist")
    // The extension's identifier begins with the app's, which isn't known then.
    #expect(findings.errors.keys == [full])
  }

  @Test("3.3: every violation is reported at once")
  func everything() throws {
    var app = SampleApp()
    app.info = ["BADownloadAllowance": 5, "BAMaxInstallSize": "x", "BAUsesAppleHosting": 3]
    app.entitlements = nil
    app.extensionInfo = [
      "BAManifestURL": "https://a.example",
      "EXAppExtensionAttributes": ["EXExtensionPointIdentifier": "com.example.other"],
    ]
    app.executable = nil
    app.library = nil
    let findings = try app.findings().1
    #expect(
      Set(findings.errors.keys) == [
        "CFBundleIdentifier", "CFBundleExecutable", "BAManifestURL", "BAInitialDownloadRestrictions",
        "BADownloadAllowance",
        "BAMaxInstallSize", "BAUsesAppleHosting", Self.groups, "EXAppExtensionAttributes.EXExtensionPointIdentifier",
      ])
    #expect(findings.warnings.keys == ["BAEssentialMaxInstallSize"])
    #expect(findings.errors.count { $0.file == "Extensions/Downloader.appex/Info.plist" } == 4)
  }

  @Test("3.3: a missing maximum size is a warning")
  func warnings() throws {
    var app = SampleApp()
    app.info["BAMaxInstallSize"] = nil
    app.info["BAEssentialMaxInstallSize"] = nil
    let (description, findings) = try app.findings()
    #expect(description != nil)
    #expect(findings.errors.isEmpty)
    #expect(findings.warnings.keys == ["BAMaxInstallSize", "BAEssentialMaxInstallSize"])
  }

  @Test("3.1: an Apple-hosted app needs the three keys of 26, and any other is a warning")
  func appleHosted() throws {
    var app = SampleApp()
    app.info["BAHasManagedAssetPacks"] = true
    app.info["BAUsesAppleHosting"] = true
    app.info["BAAppGroupID"] = "group.com.example.sessions"
    let surplus = try app.findings()
    #expect(surplus.0?.usesAppleHosting == true && surplus.0?.manifestURL == nil && surplus.0?.restrictions == nil)
    #expect(
      Set(surplus.1.warnings.keys) == [
        "BAManifestURL", "BAInitialDownloadRestrictions", "BAMaxInstallSize", "BAEssentialMaxInstallSize",
      ])
    for key in surplus.1.warnings.keys { app.info[key] = nil }
    #expect(try app.findings().1 == [])
    app.info["BAHasManagedAssetPacks"] = false
    #expect(try app.findings().1.errors.keys.contains("BAHasManagedAssetPacks"))
    app.info["BAHasManagedAssetPacks"] = true
    app.info["BAAppGroupID"] = nil
    #expect(try app.findings().1.errors.keys == ["BAAppGroupID"])
  }

  @Test("3.1: a managed, self-hosted app needs its group, the manifest and every restriction")
  func managed() throws {
    var app = SampleApp()
    app.info["BAHasManagedAssetPacks"] = true
    app.info["BAAppGroupID"] = "group.com.example.sessions"
    #expect(try app.findings().1 == [])
    app.info["BAInitialDownloadRestrictions"] = SampleApp.List()
    app.info["BAAppGroupID"] = nil
    app.info["BAManifestURL"] = nil
    #expect(
      Set(try app.findings().1.errors.keys) == [
        "BAAppGroupID", "BAManifestURL", "BAInitialDownloadRestrictions.BADownloadAllowance",
        "BAInitialDownloadRestrictions.BAEssentialDownloadAllowance",
        "BAInitialDownloadRestrictions.BADownloadDomainAllowList",
      ])
  }

  @Test(
    "L9: plain http is for loopback hosts in development mode alone [L17]",
    arguments: [
      ("http://localhost:8080/m", true), ("http://127.0.0.1/m", true), ("http://127.9.8.7:1/m", true),
      ("http://[::1]:80/m", true),
      ("HTTPS://a.example/m", true), ("http://127.0.0.1.example.com/m", false), ("http://localhost.example/m", false),
      ("http://[::2]/m", false), ("http://0.0.0.0/m", false), ("http://localhost@evil.example/m", false),
      ("http://127.0.0.1:x/", false),
    ])
  func developmentMode(url: String, isAllowed: Bool) throws {
    var app = SampleApp()
    app.info["BAManifestURL"] = url
    #expect((try app.findings(isDevelopment: true).0 != nil) == isAllowed)
    #expect((try app.findings().0 != nil) == url.hasPrefix("HTTPS"))
  }

  @Test("A version is the short one, otherwise the build's, otherwise 1")
  func versions() throws {
    var app = SampleApp()
    app.info["CFBundleShortVersionString"] = nil
    #expect(try app.findings().0?.version == "7")
    app.info["CFBundleVersion"] = nil
    let description = try #require(try app.findings().0)
    #expect(description.version == "1" && description.build == "1")
  }

  @Test("A number may be a real one without a fraction")
  func realNumbers() throws {
    var app = SampleApp()
    app.info["BAMaxInstallSize"] = 5e9
    #expect(try app.findings().0?.maxInstallSize == 5_000_000_000)
  }

  // MARK: L16

  @Test("L16: without entitlements.plist the groups are those of Info.plist and BAAppGroupID")
  func groupsOfInfo() throws {
    var app = SampleApp()
    app.entitlements = nil
    app.info[Self.groups] = ["group.b", "group.a"]
    app.info["BAAppGroupID"] = "group.c"
    #expect(try app.findings().0?.appGroups == ["group.a", "group.b", "group.c"])
    app.entitlements = [Self.groups: ["group.d"]]
    #expect(try app.findings().1.errors.keys == ["BAAppGroupID"])
    app.info["BAAppGroupID"] = nil
    #expect(try app.findings().0?.appGroups == ["group.d"])
  }

  @Test("L16: the extension's groups are among the app's")
  func groupsOfExtension() throws {
    var app = SampleApp()
    app.entitlements = [Self.groups: ["group.a", "group.b"]]
    app.extensionEntitlements = [Self.groups: ["group.a"]]
    #expect(try app.findings().0?.extensionAppGroups == ["group.a"])
    app.extensionEntitlements = [Self.groups: ["group.a", "group.z"]]
    let finding = try #require(try app.findings().1.errors.about(Self.groups))
    #expect(finding.found == "'group.z'" && finding.file == "Extensions/Downloader.appex/Info.plist")
    app.extensionEntitlements = [:]
    #expect(try app.findings().1.errors.keys == [Self.groups])
    app.extensionEntitlements = nil
    #expect(try app.findings().0?.extensionAppGroups == ["group.a", "group.b"])
  }

  @Test("3.2: an app needs a group, and its names are fit for folders")
  func wrongGroups() throws {
    var app = SampleApp()
    app.entitlements = [:]
    #expect(try app.findings().1.errors.keys == [Self.groups])
    app.entitlements = [Self.groups: ["../x", "group.a"]]
    #expect(try app.findings().1.errors.keys == [Self.groups + "[0]"])
    app.entitlements = [Self.groups: "group.a"]
    #expect(try app.findings().1.errors.keys == [Self.groups])
  }

  // MARK: 3.2

  @Test(
    "3.2: the extension's identifier begins with the app's and a dot",
    arguments: [
      ("com.example.sessions.d", true), ("com.example.sessions", false), ("com.example.sessions.", false),
      ("com.example.sessions2.d", false), ("com.other.d", false),
    ])
  func extensionIdentifier(name: String, isRight: Bool) throws {
    var app = SampleApp()
    app.extensionInfo["CFBundleIdentifier"] = name
    let (description, findings) = try app.findings()
    #expect((description != nil) == isRight)
    #expect(findings.errors.keys == (isRight ? [] : ["CFBundleIdentifier"]))
  }

  @Test("3.2: an extension of another kind, or of none, isn't one")
  func extensionPoint() throws {
    var app = SampleApp()
    app.extensionInfo["EXAppExtensionAttributes"] = ["EXExtensionPointIdentifier": "com.apple.widget"]
    let finding = try #require(try app.findings().1.errors.first)
    #expect(
      finding.key == "EXAppExtensionAttributes.EXExtensionPointIdentifier" && finding.found == "'com.apple.widget'")
    app.extensionInfo["EXAppExtensionAttributes"] = nil
    #expect(try app.findings().1.errors.keys == ["EXAppExtensionAttributes"])
  }

  @Test("3.2: extensions of other kinds beside it are left alone, a second downloader isn't")
  func twoExtensions() throws {
    func add(_ point: String, _ bundle: String) throws {
      try Files.makeDirectories("\(bundle)/Extensions/B.appex", mode: 0o755)
      let info: SampleApp.List = ["EXAppExtensionAttributes": ["EXExtensionPointIdentifier": point]]
      try SampleApp.write(info, to: "\(bundle)/Extensions/B.appex/Info.plist", .xml)
    }
    #expect(try SampleApp().findings { try add("com.apple.widget", $0) }.1 == [])
    let two = try SampleApp().findings { try add(ExtensionCheck.requiredPoint, $0) }.1
    #expect(two.errors.first?.found == "Extensions/B.appex, Extensions/Downloader.appex")
  }

  @Test("3.2: an app without an extension is told where it belongs")
  func noExtension() throws {
    let none = try SampleApp().findings { Files.removeTree("\($0)/Extensions") }.1
    #expect(none.errors.first?.file == "Extensions/*.appex" && none.errors.first?.found == "nothing")
    let misplaced = try SampleApp().findings { rename("\($0)/Extensions", "\($0)/PlugIns") }.1
    #expect(misplaced.errors.first?.found == "nothing, but PlugIns/Downloader.appex")
  }

  @Test("An .appex that isn't one, and a library that isn't one, are named")
  func fakeExtension() throws {
    let file = try SampleApp().findings {
      Files.removeTree("\($0)/Extensions/Downloader.appex")
      try Data().write(to: URL(fileURLWithPath: "\($0)/Extensions/Downloader.appex"))
    }.1
    #expect(file.errors.first?.found == "a regular file")
    let empty = try SampleApp().findings { unlink("\($0)/Extensions/Downloader.appex/Info.plist") }.1
    #expect(empty.errors.first?.file == "Extensions/Downloader.appex/Info.plist")
    #if arch(x86_64)
      let here = "x86-64"
    #else
      let here = "AArch64"
    #endif
    for (data, found) in [
      (Data(), "an empty file"), (Data("#!/bin/sh".utf8), "a file of another kind"),
      (SampleApp.sharedLibrary.prefix(10), "a file that is cut"),
      (Data([0x7f, 0x45, 0x4c, 0x46, 1] + [UInt8](repeating: 0, count: 40)), "a 32-bit ELF file"),
      (
        Data([0x7f, 0x45, 0x4c, 0x46, 2, 1] + [UInt8](repeating: 0, count: 40)),
        "an ELF file that isn't a shared library"
      ),
      (
        SampleApp.sharedLibrary(machine: 0xf3),
        "a library for another architecture (machine 243); this machine is \(here)"
      ),
    ] {
      var app = SampleApp()
      app.library = data
      #expect(try app.findings().1.errors.first?.found == found)
    }
    var app = SampleApp()
    app.library = nil
    #expect(try app.findings().1.errors.first?.found == "nothing")
  }
}
