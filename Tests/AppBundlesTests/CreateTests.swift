import Foundation
import Glibc
import LinuxSystem
import Testing

@testable import AppBundles

@Suite(.timeLimit(.minutes(2))) struct CreateTests {
  private static let recipe = """
    identifier: com.example.sessions
    version: "1.10"
    manifestURL: https://assets.example.com/manifest.json
    appGroups: [group.com.example.sessions]
    downloadAllowance: 200MiB
    essentialDownloadAllowance: 0
    allowedDomains: [assets.example.com]
    maxInstallSize: 1GiB
    essentialMaxInstallSize: 1
    """

  private func parts(_ scratch: Scratch, info: String = recipe, name: String = "app.yaml") throws -> AppParts {
    let folder = scratch.path
    try Data("#!/bin/sh\necho hello\n".utf8).write(to: URL(fileURLWithPath: "\(folder)/Sessions"))
    try SampleApp.sharedLibrary.write(to: URL(fileURLWithPath: "\(folder)/Downloader.so"))
    try Data(info.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
    return AppParts(executable: "\(folder)/Sessions", extension: "\(folder)/Downloader.so", info: "\(folder)/\(name)")
  }

  private func refusal(_ path: String, _ parts: AppParts) -> BundleError? {
    do throws(BundleError) {
      _ = try AppBundle.create(at: path, from: parts)
      return nil
    } catch {
      return error
    }
  }

  @Test("A short description makes an app that can be installed")
  func create() throws {
    let scratch = try Scratch()
    let path = "\(scratch.path)/Made.app"
    let (description, findings) = try AppBundle.create(at: path, from: try parts(scratch))
    #expect(findings == [])
    #expect(description.version == "1.10" && description.name == "Made" && description.maxInstallSize == 1 << 30)
    #expect(description.restrictions?.downloadAllowance == 200 << 20)
    #expect(description.extensionIdentifier == "com.example.sessions.downloader")
    #expect(
      Scratch.tree(path) == [
        "Extensions", "Extensions/Downloader.appex", "Extensions/Downloader.appex/Downloader.so",
        "Extensions/Downloader.appex/Info.plist", "Info.plist", "Sessions", "entitlements.plist",
      ])
    let placed = try AppInstaller(root: "\(scratch.path)/apps", isDevelopment: false).place(from: path)
    #expect(placed.description == description)
    #expect(try Tool.run(placed.executablePath, []).output == "hello\n")
  }

  @Test("An app that is there is replaced only if that is said")
  func replace() throws {
    let scratch = try Scratch()
    let path = "\(scratch.path)/Made.app"
    let parts = try parts(scratch)
    _ = try AppBundle.create(at: path, from: parts)
    try Data().write(to: URL(fileURLWithPath: "\(path)/old"))
    #expect(refusal(path, parts)?.remedy?.contains("--force") == true)
    #expect(Files.exists("\(path)/old"))
    _ = try AppBundle.create(at: path + "/", from: parts, isReplacing: true)
    #expect(!Files.exists("\(path)/old"))
    #expect(try Files.names(in: scratch.path).filter { $0.hasPrefix(".") } == [])
  }

  @Test(
    "Xcode's files and an .appex are taken as they are",
    arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary, .openStep])
  func fromPropertyLists(format: PropertyListSerialization.PropertyListFormat) throws {
    let scratch = try Scratch()
    var parts = try parts(scratch)
    let app = SampleApp()
    let bundle = try app.write(in: "\(scratch.path)")
    var info = app.info
    info["CFBundleExecutable"] = nil
    info["BAHasManagedAssetPacks"] = format == .openStep ? "YES" : true
    info["BAAppGroupID"] = "group.com.example.sessions"
    try SampleApp.write(info, to: "\(scratch.path)/Info.plist", format)
    parts.info = "\(scratch.path)/Info.plist"
    parts.entitlements = "\(bundle)/entitlements.plist"
    parts.extension = "\(bundle)/Extensions/Downloader.appex/"
    let (description, findings) = try AppBundle.create(at: "\(scratch.path)/Made.app", from: parts)
    #expect(findings == [] && description.isManaged && description.maxInstallSize == 1000)
  }

  @Test("What would have errors isn't made, and every one of them is named")
  func errors() throws {
    let scratch = try Scratch()
    let parts = try parts(scratch, info: "identifier: com.example.sessions\nversion: a/b\n")
    let before = try Files.names(in: scratch.path)
    let error = try #require(refusal("\(scratch.path)/Made.app", parts))
    #expect(error.code == .invalid)
    #expect(
      Set(error.findings.errors.keys) == [
        "CFBundleShortVersionString", "BAManifestURL", "BAInitialDownloadRestrictions",
        "com.apple.security.application-groups",
      ])
    #expect(try Files.names(in: scratch.path) == before)
  }

  @Test(
    "A description with a mistake is refused at its place",
    arguments: [
      ("identifer: a", 1, "isn't a key"), ("identifier: a\nidentifier: b", 1, "twice"), ("- a", 1, "is a map"),
      ("identifier: [a]", 1, "single value"), ("a: b\nappGroups: g", 1, "isn't a key"),
      ("identifier: a\nappGroups: g", 2, "is a list"), ("appGroups: [a, null]", 1, "single value"),
      ("identifier: a\nversion:", 2, "single value"),
      ("downloadAllowance: lots", 1, "is a size"), ("downloadAllowance: -5", 1, "is a size"),
      ("isManaged: yes", 1, "true or false"),
      ("identifier: &a x\nname: *a", 1, "anchors"), ("identifier: \"a", 1, "isn't YAML"),
      ("identifier: !!binary aGk=\nx: y", 2, "isn't a key"),
    ])
  func mistakes(text: String, line: Int, message: String) throws {
    let scratch = try Scratch()
    let error = try #require(refusal("\(scratch.path)/Made.app", try parts(scratch, info: text)))
    #expect(error.subject.contains("app.yaml:\(line):") && error.reason.contains(message), "\(error)")
    #expect(!Files.exists("\(scratch.path)/Made.app"))
  }

  @Test("Parts that can't be read, and names that no app can have, are errors")
  func parts() throws {
    let scratch = try Scratch()
    let good = try parts(scratch)
    let path = "\(scratch.path)/Made.app"
    for key in [\AppParts.executable, \AppParts.extension, \AppParts.info] {
      var parts = good
      parts[keyPath: key] = "\(scratch.path)/none.yaml"
      #expect(refusal(path, parts)?.code == .unreadable, "\(parts)")
      mkfifo("\(scratch.path)/pipe", 0o600)
      if key != \AppParts.info {
        parts[keyPath: key] = "\(scratch.path)/pipe"
        #expect(refusal(path, parts) != nil)
      }
    }
    for name in ["Made", ".app", "a\u{202e}.app", "none/Made.app"] {
      #expect(refusal("\(scratch.path)/\(name)", good) != nil)
    }
    // That is where it is to be written, and no part of it.
    let missing = refusal("\(scratch.path)/none/Made.app", good)
    #expect(missing?.code == .systemRefused && missing?.remedy == "make it first")
    #expect(missing?.reason == "can't be made: there is no folder \(scratch.path)/none")
    var both = good
    both.entitlements = good.info
    #expect(refusal(path, both)?.reason.contains("groups") == true)
    #expect(try Files.names(in: scratch.path).filter { $0.hasSuffix(".app") || $0.hasPrefix(".") } == [])
  }
}

/// The commands, and the example of docs/bundles.md.
@Suite(.timeLimit(.minutes(2))) struct BundleCommandTests {
  private static let outrider = "\(Tool.products)/outrider"

  private struct Report: Decodable {
    var app: AppDescription?
    var findings: [Finding]
  }

  @Test("check says nothing but the verdict of a good app, and names every finding of another")
  func check() throws {
    let scratch = try Scratch()
    let good = try SampleApp().write(in: scratch.path)
    let right = try Tool.run(Self.outrider, ["bundle", "check", good])
    #expect(right.code == 0 && right.output == "\(good): com.example.sessions 1.2 can be installed\n", "\(right)")
    var app = SampleApp()
    app.info["BAManifestURL"] = "http://a.example"
    app.info["BAMaxInstallSize"] = nil
    app.info["CFBundleName"] = "\u{1b}[2J"
    let bad = try app.write(in: scratch.path, name: "Bad.app")
    let wrong = try Tool.run(Self.outrider, ["bundle", "check", bad])
    #expect(wrong.code == 65)
    for text in [
      "error  Info.plist: BAManifestURL\n  expected  an https URL with a host\n  found     'http://a.example'",
      "warning  Info.plist: BAMaxInstallSize", "can't be installed, 2 errors, 1 warning",
    ] { #expect(wrong.output.contains(text), "\(wrong.output)") }
    #expect(!wrong.output.contains("\u{1b}"))
    let file = "\(scratch.path)/note.txt"
    try Data("text".utf8).write(to: URL(fileURLWithPath: file))
    let note = try Tool.run(Self.outrider, ["bundle", "check", file])
    #expect(note.code == 65 && note.output.hasPrefix("error  \(file)\n"), "\(note)")
    for once in ["is neither a tar nor a zip archive", "pack the app with: tar -czf"] {
      #expect(note.output.components(separatedBy: once).count == 2, "\(note)")
    }
    let json = try Tool.run(Self.outrider, ["bundle", "check", bad, "--json"])
    let report = try JSONDecoder().decode(Report.self, from: Data(json.output.utf8))
    #expect(json.code == 65 && report.app == nil && report.findings.errors.keys == ["CFBundleName", "BAManifestURL"])
    let none = try Tool.run(Self.outrider, ["bundle", "check", "\(scratch.path)/None.app", "--json"])
    #expect(none.code == 66 && none.output.contains("\"status\":66"))
  }

  @Test(
    "OUTRIDER_DEVELOPMENT counts as --development does",
    arguments: [("1", 0), ("0", 65), ("", 65)] as [(String, Int32)])
  func development(value: String, code: Int32) throws {
    let scratch = try Scratch()
    var app = SampleApp()
    app.info["BAManifestURL"] = "http://127.0.0.1:8080/manifest.json"
    let bundle = try app.write(in: scratch.path)
    let archive = "\(scratch.path)/a.tgz"
    try Tool.run("tar", ["-czf", archive, "Sessions.app"], in: scratch.path)
    let description = """
      identifier: com.example.sessions
      manifestURL: http://127.0.0.1:8080/manifest.json
      appGroups: [group.com.example.sessions]
      downloadAllowance: 200MiB
      essentialDownloadAllowance: 0
      allowedDomains: [127.0.0.1]
      maxInstallSize: 1GiB
      essentialMaxInstallSize: 1
      """
    try Data(description.utf8).write(to: URL(fileURLWithPath: "\(scratch.path)/app.yaml"))
    let parts = [
      "--executable", "\(bundle)/Sessions", "--extension", "\(bundle)/Extensions/Downloader.appex/Downloader.so",
      "--info", "\(scratch.path)/app.yaml", "-o", "\(scratch.path)/Made.app",
    ]
    for words in [["check", bundle], ["check", archive], ["create"] + parts] {
      let end = try Tool.run("env", ["OUTRIDER_DEVELOPMENT=\(value)", Self.outrider, "bundle"] + words)
      #expect(end.code == code, "\(end)")
    }
  }

  @Test("What a read-only volume needs isn't an option of one command alone") func readOnly() {
    let error = BundleError(SystemCallError("mkdir", code: EROFS, subject: "Made.app"), subject: "Made.app")
    #expect(error.code == .systemRefused && error.remedy == "choose a folder that can be written to")
  }

  @Test("The example of docs/bundles.md works as it stands there")
  func documentedExample() throws {
    let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = try String(contentsOf: repository.appendingPathComponent("docs/bundles.md"), encoding: .utf8)
    func blocks(_ kind: String) -> [String] {
      page.components(separatedBy: "```\(kind)\n").dropFirst().map { $0.components(separatedBy: "\n```")[0] }
    }
    let scratch = try Scratch()
    let app = SampleApp()
    try app.executable?.write(to: URL(fileURLWithPath: "\(scratch.path)/Sessions"))
    try app.library?.write(to: URL(fileURLWithPath: "\(scratch.path)/SessionsDownloader.so"))
    try Data(try #require(blocks("yaml").first).utf8).write(to: URL(fileURLWithPath: "\(scratch.path)/app.yaml"))
    func run(_ script: String) throws -> Tool.Ended {
      let path = "PATH=\(Tool.products):$PATH\nset -e\n"
      return try Tool.run("sh", ["-c", path + script], in: scratch.path)
    }
    let scripts = blocks("sh")
    try #require(scripts.count == 3)
    let made = try run(scripts[0])
    #expect(made.code == 0, "\(made)")
    let archive = try run(scripts[2])
    #expect(archive.code == 0, "\(archive)")
    _ = try AppInstaller(root: "\(scratch.path)/apps", isDevelopment: false).place(
      from: "\(scratch.path)/Sessions.tar.gz")
    // The files of a project.
    let bundle = "\(scratch.path)/Sessions.app"
    rename("\(bundle)/Info.plist", "\(scratch.path)/Info.plist")
    rename("\(bundle)/entitlements.plist", "\(scratch.path)/Sessions.entitlements")
    rename("\(bundle)/Extensions/SessionsDownloader.appex", "\(scratch.path)/SessionsDownloader.appex")
    Files.removeTree(bundle)
    let project = try run(scripts[1])
    #expect(project.code == 0, "\(project)")
  }

  @Test("The keys of the help are those that are read")
  func help() throws {
    let help = try Tool.run(Self.outrider, ["bundle", "create", "--help"]).output
    for key in AppRecipe.keys { #expect(help.contains(key), "\(key)") }
  }
}
