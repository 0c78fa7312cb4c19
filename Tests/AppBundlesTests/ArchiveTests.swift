import Basics
import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

@testable import AppBundles

/// An archive is whatever someone put together; a part of these are made by Python, which packs what tar(1) wouldn't.
@Suite(.timeLimit(.minutes(3))) struct ArchiveTests {
  static let hasPython = Tool.exists("python3")

  private func expectRefused(
    _ archive: String, _ scratch: Scratch, code: BundleError.Code, _ text: String, limits: BundleLimits = BundleLimits()
  ) {
    let root = "\(scratch.path)/apps"
    do throws(BundleError) {
      let placed = try AppInstaller(root: root, isDevelopment: false, limits: limits).place(from: archive)
      Issue.record("placed \(placed.path)")
    } catch {
      #expect(error.code == code && error.description.contains(text), "\(error.code): \(error)")
    }
    #expect(Scratch.tree(root).filter { $0 != ".lock" } == [], "nothing is left")
  }

  @Test(
    "tar with every usual compression and zip are unpacked, at the top and one folder deep",
    arguments: [
      ["tar", "-cf"], ["tar", "-czf"], ["tar", "-cjf"], ["tar", "-cJf"], ["tar", "--zstd", "-cf"],
      ["tar", "--format=pax", "-cf"], ["zip", "-qry"],
    ], [false, true])
  func formats(command: [String], isDeep: Bool) throws {
    let scratch = try Scratch()
    let above = isDeep ? "\(scratch.path)/in/Sessions 1.2" : "\(scratch.path)/in"
    try Files.makeDirectories(above, mode: 0o755)
    let bundle = try SampleApp().write(in: above)
    symlink("Sessions", "\(bundle)/ünï")
    let archive = "\(scratch.path)/archive"
    let name = isDeep ? "Sessions 1.2" : "Sessions.app"
    let packed = try Tool.run(command[0], Array(command.dropFirst()) + [archive, name], in: "\(scratch.path)/in")
    try #require(packed.code == 0, "\(packed.errors)")
    // zip adds its suffix.
    let made = Files.exists(archive) ? archive : archive + ".zip"
    let placed = try AppInstaller(root: "\(scratch.path)/apps", isDevelopment: false).place(from: made)
    #expect(Scratch.tree(placed.path) == Scratch.tree(bundle))
    #expect(try Files.identity(of: placed.executablePath).mode & 0o7777 == 0o755)
    #expect(FileManager.default.contentsEqual(atPath: placed.executablePath, andPath: "\(bundle)/Sessions"))
  }

  @Test(
    "an archive whose content isn't what its checksum says is refused",
    arguments: [
      (["tar", "-czf"], false), (["tar", "-cjf"], false), (["tar", "-cJf"], false), (["tar", "--zstd", "-cf"], false),
      (["zip", "-0qry"], true),
    ])
  func damaged(command: [String], isStored: Bool) throws {
    let scratch = try Scratch()
    try Files.makeDirectories("\(scratch.path)/in", mode: 0o755)
    let bundle = try SampleApp().write(in: "\(scratch.path)/in")
    let mark = Data("a line that is changed\n".utf8)
    try mark.write(to: URL(fileURLWithPath: "\(bundle)/marked"))
    let archive = "\(scratch.path)/archive"
    let packed = try Tool.run(
      command[0], Array(command.dropFirst()) + [archive, "Sessions.app"], in: "\(scratch.path)/in")
    try #require(packed.code == 0, "\(packed.errors)")
    let made = Files.exists(archive) ? archive : archive + ".zip"
    var bytes = try Data(contentsOf: URL(fileURLWithPath: made))
    // Of gzip the checksum at the end, of others what lies in the middle.
    let place =
      isStored
      ? try #require(bytes.range(of: mark)).lowerBound : command[1] == "-czf" ? bytes.count - 6 : bytes.count / 2
    bytes[place] ^= 1
    try bytes.write(to: URL(fileURLWithPath: made))
    expectRefused(made, scratch, code: .damagedArchive, "is damaged or cut")
  }

  @Test("several gzip members after each other, and zeros after the last, are one archive") func members() throws {
    let scratch = try Scratch()
    try Files.makeDirectories("\(scratch.path)/in", mode: 0o755)
    let bundle = try SampleApp().write(in: "\(scratch.path)/in")
    let made = try Tool.run(
      "sh",
      [
        "-c",
        "tar -cf whole Sessions.app && head -c 3000 whole | gzip >a && tail -c +3001 whole | gzip >>a && head -c 1024 /dev/zero >>a",
      ], in: "\(scratch.path)/in")
    try #require(made.code == 0, "\(made.errors)")
    let placed = try AppInstaller(root: "\(scratch.path)/apps", isDevelopment: false).place(
      from: "\(scratch.path)/in/a")
    #expect(Scratch.tree(placed.path) == Scratch.tree(bundle))
  }

  struct Attack: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var code: BundleError.Code
    var text: String
    /// Python that adds entries to the tar archive `t`, after or before the good app.
    var script: String
    var isBefore = false
  }

  static let attacks: [Attack] = [
    Attack(
      testDescription: "..", code: .unsafeContent, text: "'..' in its path", script: "add('Sessions.app/../../evil')"),
    Attack(
      testDescription: ".. before an accent, which makes another character of the slash", code: .unsafeContent,
      text: "'..' in its path", script: "add('Sessions.app/../../\\u0301evil')"),
    Attack(
      testDescription: "absolute, with an accent on the slash", code: .unsafeContent, text: "absolute path",
      script: "add('/\\u0301evil')"),
    Attack(
      testDescription: "absolute", code: .unsafeContent, text: "absolute path", script: "add('/tmp/outrider-evil')"),
    Attack(testDescription: "absolute behind dots", code: .unsafeContent, text: "'..'", script: "add('./../../evil')"),
    Attack(
      testDescription: "a link, then a file through it", code: .unsafeContent, text: "can't be unpacked",
      script: "link('Sessions.app/d', 'Extensions'); add('Sessions.app/d/evil')"),
    Attack(
      testDescription: "a link out, then a file through it", code: .unsafeContent, text: "link out of the bundle",
      script: "link('Sessions.app/d', '/tmp'); add('Sessions.app/d/outrider-evil')"),
    Attack(
      testDescription: "a relative link out, then a file through it", code: .unsafeContent, text: "can't be unpacked",
      script: "link('Sessions.app/d', '../../..'); add('Sessions.app/d/outrider-evil')"),
    Attack(
      testDescription: "a relative link out", code: .unsafeContent, text: "link out of the bundle",
      script: "link('Sessions.app/d', '../other')"),
    Attack(
      testDescription: "a link in place of a folder", code: .unsafeContent, text: "there twice",
      script: "link('Sessions.app', '/tmp')"),
    Attack(
      testDescription: "a link in place of a folder, first", code: .unsafeContent, text: "link out of the bundle",
      script: "link('Sessions.app', '/tmp')", isBefore: true),
    Attack(
      testDescription: "a hard link out", code: .unsafeContent, text: "hard link",
      script: "hard('Sessions.app/p', '/etc/passwd')"),
    Attack(
      testDescription: "a hard link up", code: .unsafeContent, text: "'..'",
      script: "hard('Sessions.app/p', '../../../etc/passwd')"),
    Attack(
      testDescription: "a hard link to a link", code: .unsafeContent, text: "hard link",
      script: "link('Sessions.app/l', 'Sessions'); hard('Sessions.app/p', 'Sessions.app/l')"),
    Attack(
      testDescription: "a device", code: .unsafeContent, text: "a device",
      script: "special('Sessions.app/n', tarfile.CHRTYPE)"),
    Attack(
      testDescription: "a block device", code: .unsafeContent, text: "a device",
      script: "special('Sessions.app/n', tarfile.BLKTYPE)"),
    Attack(
      testDescription: "a FIFO", code: .unsafeContent, text: "a FIFO",
      script: "special('Sessions.app/n', tarfile.FIFOTYPE)"),
    Attack(
      testDescription: "setuid", code: .unsafeContent, text: "setuid", script: "add('Sessions.app/s', mode=0o4755)"),
    Attack(
      testDescription: "setgid", code: .unsafeContent, text: "setgid", script: "add('Sessions.app/s', mode=0o2755)"),
    Attack(
      testDescription: "a file twice", code: .unsafeContent, text: "there twice", script: "add('Sessions.app/Sessions')"
    ),
    Attack(
      testDescription: "a file twice, spelt otherwise", code: .unsafeContent, text: "there twice",
      script: "add('./Sessions.app//./Sessions')"),
    Attack(
      testDescription: "deep", code: .tooLarge, text: "deeper than 32 levels",
      script: "add('Sessions.app/' + 'd/' * 40 + 'f')"),
    Attack(
      testDescription: "a long path", code: .tooLarge, text: "path of more than 1024 bytes",
      script: "add('Sessions.app/' + ('d' * 200 + '/') * 6 + 'f')"),
    Attack(
      testDescription: "a long name", code: .unsafeContent, text: "name of more than 255 bytes",
      script: "add('Sessions.app/' + 'n' * 300)"),
    Attack(
      testDescription: "a name with a line break", code: .unsafeContent, text: "control characters",
      script: "add('Sessions.app/a\\nb')"),
    Attack(testDescription: "two apps", code: .notABundle, text: "has 2 apps", script: "add('Other.app/Info.plist')"),
    Attack(
      testDescription: "a bomb", code: .tooLarge, text: "more than 200 times its size",
      script: "zeros('Sessions.app/z', 80 << 20)"),
    Attack(
      testDescription: "says 1 TiB", code: .tooLarge, text: "unpacks to more than",
      script: "claims('Sessions.app/z', 1 << 40)"),
    Attack(
      testDescription: "many entries", code: .tooLarge, text: "more than 500 entries",
      script: "[add('Sessions.app/%d' % i) for i in range(501)]"),
  ]

  static let prelude = """
    import io, sys, tarfile
    class Zeros:
      def __init__(self, n): self.left = n
      def read(self, n=-1):
        n = self.left if n < 0 else min(n, self.left); self.left -= n; return bytes(n)
    t = tarfile.open(sys.argv[1], 'w:gz', format=tarfile.PAX_FORMAT, compresslevel=1)
    def entry(name, kind, mode=0o644):
      e = tarfile.TarInfo(name); e.type = kind; e.mode = mode; return e
    def add(name, data=b'evil', mode=0o644):
      e = entry(name, tarfile.REGTYPE, mode); e.size = len(data); t.addfile(e, io.BytesIO(data))
    def link(name, to): e = entry(name, tarfile.SYMTYPE); e.linkname = to; t.addfile(e)
    def hard(name, to): e = entry(name, tarfile.LNKTYPE); e.linkname = to; t.addfile(e)
    def special(name, kind): e = entry(name, kind); e.devmajor = 1; e.devminor = 3; t.addfile(e)
    def zeros(name, n): e = entry(name, tarfile.REGTYPE); e.size = n; t.addfile(e, Zeros(n))
    def claims(name, n): e = entry(name, tarfile.REGTYPE); e.size = n; t.fileobj.write(e.tobuf()); t.offset += 512
    def good(): t.add(sys.argv[2], 'Sessions.app')
    """

  private func pack(_ script: String, isBefore: Bool = false, _ scratch: Scratch) throws -> String {
    let bundle = try SampleApp().write(in: "\(scratch.path)")
    let archive = "\(scratch.path)/archive.tar.gz"
    let order = isBefore ? "\(script)\ngood()" : "good()\n\(script)"
    let packed = try Tool.run("python3", ["-c", "\(Self.prelude)\n\(order)\nt.close()", archive, bundle])
    try #require(packed.code == 0, "\(packed.errors)")
    return archive
  }

  @Test(
    "A hostile archive is a named error and leaves nothing [F-51]", .enabled(if: hasPython, "python3 isn't installed"),
    arguments: attacks)
  func hostile(attack: Attack) throws {
    let scratch = try Scratch()
    let archive = try pack(attack.script, isBefore: attack.isBefore, scratch)
    var limits = BundleLimits()
    limits.entries = 500
    expectRefused(archive, scratch, code: attack.code, attack.text, limits: limits)
    #expect(!Files.exists("/tmp/outrider-evil"))
    #expect(!Files.exists("\(scratch.path)/evil") && !Files.exists("\(scratch.path)/outrider-evil"))
  }

  @Test(
    "A hard link within the bundle is unpacked, and what lies beside the app isn't kept",
    .enabled(if: hasPython, "python3 isn't installed"))
  func hardLinkInside() throws {
    let scratch = try Scratch()
    let archive = try pack("hard('Sessions.app/again', 'Sessions.app/Sessions'); add('./top-level-note')", scratch)
    let placed = try AppInstaller(root: "\(scratch.path)/apps", isDevelopment: false).place(from: archive)
    #expect(FileManager.default.contentsEqual(atPath: "\(placed.path)/again", andPath: placed.executablePath))
    #expect(Scratch.tree("\(scratch.path)/apps").allSatisfy { !$0.hasSuffix("top-level-note") })
  }

  @Test("Bounds of bytes hold for what an archive unpacks to", .enabled(if: hasPython, "python3 isn't installed"))
  func bytes() throws {
    let scratch = try Scratch()
    let archive = try pack("zeros('Sessions.app/z', 3 << 20)", scratch)
    var limits = BundleLimits()
    limits.totalBytes = 2 << 20
    expectRefused(archive, scratch, code: .tooLarge, "unpacks to more than 2 MiB", limits: limits)
  }

  @Test(
    "An archive that is changed anywhere is an error or an app, and leaves nothing else",
    arguments: ["a.tar", "a.zip", "a.tgz"])
  func changed(name: String) throws {
    let scratch = try Scratch()
    try SampleApp().write(in: scratch.path)
    let archive = "\(scratch.path)/\(name)"
    let command = name == "a.zip" ? ["zip", "-qr", archive] : ["tar", "-caf", archive]
    try Tool.run(command[0], Array(command.dropFirst()) + ["Sessions.app"], in: scratch.path)
    let bytes = try Data(contentsOf: URL(fileURLWithPath: archive))
    let seed = UInt64.random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    let root = "\(scratch.path)/apps"
    let installer = AppInstaller(root: root, isDevelopment: false)
    for _ in 0..<60 {
      var changed = bytes
      for _ in 0...random.below(5) { changed[random.below(changed.count)] = UInt8(random.below(256)) }
      try changed.write(to: URL(fileURLWithPath: archive))
      if let placed = try? installer.place(from: archive) {
        #expect(AppBundle.check(at: placed.path, isDevelopment: false).0 == placed.description, "seed \(seed)")
        try installer.remove(placed.description.identifier)
      }
      #expect(Scratch.tree(root).filter { $0 != ".lock" } == [], "seed \(seed)")
    }
  }

  @Test("An archive that is cut anywhere is an error or an app, and leaves nothing else")
  func damaged() throws {
    let scratch = try Scratch()
    try SampleApp().write(in: scratch.path)
    let archive = "\(scratch.path)/a.tgz"
    try Tool.run("tar", ["-czf", archive, "Sessions.app"], in: scratch.path)
    let bytes = try Data(contentsOf: URL(fileURLWithPath: archive))
    for length in stride(from: 0, to: bytes.count, by: 37) {
      try bytes.prefix(length).write(to: URL(fileURLWithPath: archive))
      let root = "\(scratch.path)/apps"
      let installer = AppInstaller(root: root, isDevelopment: false)
      // What is cut behind the last file is whole.
      if (try? installer.place(from: archive)) != nil { try installer.remove("com.example.sessions") }
      #expect(Scratch.tree(root).filter { $0 != ".lock" } == [], "\(length)")
    }
  }

  @Test("An archive can be checked without being installed")
  func check() throws {
    let scratch = try Scratch()
    var app = SampleApp()
    app.info["BAMaxInstallSize"] = nil
    try app.write(in: scratch.path)
    let archive = "\(scratch.path)/a.tgz"
    try Tool.run("tar", ["-czf", archive, "Sessions.app"], in: scratch.path)
    let (description, findings) = try AppBundle.checkArchive(archive, isDevelopment: false)
    #expect(description?.identifier == "com.example.sessions" && findings.keys == ["BAMaxInstallSize"])
    try Data("text".utf8).write(to: URL(fileURLWithPath: archive))
    // Also where the path isn't the one that the file has without links.
    try FileManager.default.createSymbolicLink(atPath: "\(scratch.path)/link", withDestinationPath: archive)
    for path in [archive, "\(scratch.path)/link"] {
      let finding = try #require(try AppBundle.checkArchive(path, isDevelopment: false).1.first)
      #expect(finding.found.hasPrefix("a file that is neither a tar nor a zip archive"), "\(finding)")
      #expect(!finding.found.contains("tar -czf") && finding.remedy?.contains("tar -czf") == true, "\(finding)")
    }
  }

  @Test("What isn't an archive, and one without an app, say so")
  func noArchive() throws {
    let scratch = try Scratch()
    let file = "\(scratch.path)/file"
    try Data("hello".utf8).write(to: URL(fileURLWithPath: file))
    expectRefused(file, scratch, code: .notABundle, "neither a tar nor a zip")
    try Data().write(to: URL(fileURLWithPath: file))
    expectRefused(file, scratch, code: .notABundle, "neither a tar nor a zip")
    try Data("note".utf8).write(to: URL(fileURLWithPath: "\(scratch.path)/note"))
    try Tool.run("tar", ["-cf", file, "note"], in: scratch.path)
    expectRefused(file, scratch, code: .notABundle, "has no Name.app")
    mkfifo("\(scratch.path)/pipe", 0o600)
    expectRefused("\(scratch.path)/pipe", scratch, code: .notABundle, "is a FIFO")
    expectRefused("\(scratch.path)/gone", scratch, code: .unreadable, "No such file")
  }

  @Test("A file with holes is unpacked, and counts as what it is read as")
  func sparse() throws {
    let scratch = try Scratch()
    let bundle = try SampleApp().write(in: scratch.path)
    let path = "\(bundle)/sparse"
    try Data("end".utf8).write(to: URL(fileURLWithPath: path))
    try #require(truncate(path, 8 << 20) == 0)
    let archive = "\(scratch.path)/a.tar"
    try Tool.run("tar", ["-cSf", archive, "Sessions.app"], in: scratch.path)
    try #require(try Files.identity(of: archive).size < 1 << 20)
    let placed = try AppInstaller(root: "\(scratch.path)/apps", isDevelopment: false).place(from: archive)
    #expect(FileManager.default.contentsEqual(atPath: "\(placed.path)/sparse", andPath: path))
    Files.removeTree("\(scratch.path)/apps")
    var limits = BundleLimits()
    limits.totalBytes = 7 << 20
    expectRefused(archive, scratch, code: .tooLarge, "more than 7 MiB", limits: limits)
  }

  @Test("Findings of an unpacked app come with the error")
  func findings() throws {
    let scratch = try Scratch()
    var app = SampleApp()
    app.info["BAManifestURL"] = nil
    app.info["BAInitialDownloadRestrictions"] = nil
    try app.write(in: scratch.path)
    let archive = "\(scratch.path)/a.tar"
    try Tool.run("tar", ["-cf", archive, "Sessions.app"], in: scratch.path)
    do throws(BundleError) {
      _ = try AppInstaller(root: "\(scratch.path)/apps", isDevelopment: false).place(from: archive)
      Issue.record("placed")
    } catch {
      #expect(error.code == .invalid && error.subject == archive)
      #expect(error.findings.errors.keys == ["BAManifestURL", "BAInitialDownloadRestrictions"])
      #expect(error.description.contains("BAManifestURL") && error.description.contains("and 1 more"))
    }
  }
}
