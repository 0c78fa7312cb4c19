import Basics
import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

@testable import AppBundles

/// A bundle is a folder that anyone may have made.
@Suite(.timeLimit(.minutes(2))) struct HostileFolderTests {
  struct Attack: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// Where in the bundle.
    var file: String
    var found: String
    var prepare: @Sendable (_ bundle: String) throws -> Void
  }

  static let attacks: [Attack] = [
    Attack(testDescription: "a link out, absolute", file: "data", found: "a link out of the bundle") {
      symlink("/etc/passwd", "\($0)/data")
    },
    Attack(testDescription: "a link out, relative", file: "data", found: "a link out of the bundle") {
      symlink("../../x", "\($0)/data")
    },
    Attack(testDescription: "a link out through a link", file: "a/b/up", found: "a link out of the bundle") {
      // In the path's words `a/b/c/..` is inside; the kernel goes up from where `c` leads.
      try Files.makeDirectories("\($0)/a/b", mode: 0o755)
      symlink("../..", "\($0)/a/b/c")
      symlink("c/../secret", "\($0)/a/b/up")
    },
    Attack(testDescription: "a link to itself", file: "loop", found: "a link that leads in a circle") {
      symlink("loop", "\($0)/loop")
    },
    Attack(
      testDescription: "a link to nothing", file: "gone", found: "a link that leads nowhere (No such file or directory)"
    ) { symlink("x", "\($0)/gone") },
    Attack(testDescription: "a FIFO", file: "pipe", found: "a FIFO") { mkfifo("\($0)/pipe", 0o600) },
    Attack(testDescription: "a socket", file: "socket", found: "a socket") {
      try HostileFolderTests.makeSocket("\($0)/socket")
    },
    Attack(testDescription: "setuid", file: "Sessions", found: "a regular file with a setuid or setgid bit") {
      chmod("\($0)/Sessions", 0o4755)
    },
    Attack(
      testDescription: "setgid", file: "Extensions/Downloader.appex/Downloader.so",
      found: "a regular file with a setuid or setgid bit"
    ) { chmod("\($0)/Extensions/Downloader.appex/Downloader.so", 0o2755) },
    Attack(
      testDescription: "a name with an escape sequence", file: "a\u{1b}[2J",
      found: "a name that isn't UTF-8 text, or has control characters"
    ) {
      close(open("\($0)/a\u{1b}[2J", O_CREAT | O_WRONLY, 0o600))
    },
  ]

  static func makeSocket(_ path: String) throws {
    let number = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(number) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(100)) }
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(result == 0)
  }

  @Test(
    "What no bundle may have is found by the check, refused by an installation, and nothing is left", arguments: attacks
  )
  func refused(attack: Attack) throws {
    let scratch = try Scratch()
    let bundle = try SampleApp().write(in: scratch.path)
    try attack.prepare(bundle)
    let (description, findings) = AppBundle.check(at: bundle, isDevelopment: false)
    #expect(description == nil)
    #expect(findings.contains { $0.file == attack.file && $0.found == attack.found }, "\(findings)")
    // The copy alone refuses as well: the folder may change after the check.
    let target = "\(scratch.path)/copy"
    try Files.makeDirectories(target, mode: 0o755)
    #expect(throws: BundleError.self) { try TreePass.copy(bundle, to: target, limits: BundleLimits()) }
    try expectNothingPlaced(bundle, scratch)
  }

  private func expectNothingPlaced(_ source: String, _ scratch: Scratch, limits: BundleLimits = BundleLimits()) throws {
    let root = "\(scratch.path)/apps"
    #expect(throws: BundleError.self) {
      try AppInstaller(root: root, isDevelopment: false, limits: limits).place(from: source)
    }
    #expect(Scratch.tree(root).filter { $0 != ".lock" } == [])
  }

  @Test("A device isn't opened", .enabled(if: getuid() == 0, "making a device needs root"))
  func device() throws {
    let scratch = try Scratch()
    let bundle = try SampleApp().write(in: scratch.path)
    try #require(mknod("\(bundle)/null", S_IFCHR | 0o666, 0x103) == 0)
    #expect(AppBundle.check(at: bundle, isDevelopment: false).1.errors.first?.found == "a device")
    try expectNothingPlaced(bundle, scratch)
  }

  @Test(
    "A FIFO, a device or a link out in place of a key file keeps no caller waiting",
    arguments: [
      "Info.plist", "entitlements.plist", "Extensions/Downloader.appex/Info.plist",
      "Extensions/Downloader.appex/Downloader.so", "Sessions",
    ])
  func keyFiles(file: String) throws {
    for (index, expected) in ["a FIFO", "a link out of the bundle", "a link out of the bundle", "a folder"].enumerated()
    {
      let findings = try SampleApp().findings { bundle in
        let path = "\(bundle)/\(file)"
        unlink(path)
        switch index {
        case 0: mkfifo(path, 0o755)
        case 1: symlink("/dev/zero", path)
        case 2: symlink("../../../../../../../../etc/passwd", path)
        default: mkdir(path, 0o755)
        }
      }.1
      #expect(findings.errors.contains { $0.file == file && $0.found == expected }, "\(expected): \(findings)")
    }
  }

  @Test("Links that stay in the bundle are kept")
  func linksInside() throws {
    let scratch = try Scratch()
    let bundle = try SampleApp().write(in: scratch.path)
    try Files.makeDirectories("\(bundle)/Versions/A", mode: 0o755)
    symlink("A", "\(bundle)/Versions/Current")
    symlink("Versions/Current/../../Sessions", "\(bundle)/again")
    let placed = try AppInstaller(root: "\(scratch.path)/apps", isDevelopment: false).place(from: bundle)
    #expect(Files.link("\(placed.path)/Versions/Current") == "A")
    #expect(Scratch.tree(placed.path) == Scratch.tree(bundle))
  }

  @Test("Bounds: bytes, entries, depth and length of a path")
  func bounds() throws {
    let scratch = try Scratch()
    let bundle = try SampleApp().write(in: scratch.path)
    func refusal(_ change: (inout BundleLimits) -> Void) throws -> String {
      var limits = BundleLimits()
      change(&limits)
      try expectNothingPlaced(bundle, scratch, limits: limits)
      return AppBundle.check(at: bundle, isDevelopment: false, limits: limits).1.errors.first?.found ?? ""
    }
    #expect(try refusal { $0.totalBytes = 100 }.contains("has more than 0 MiB"))
    #expect(try refusal { $0.entries = 5 } == "has more than 5 files and folders")
    #expect(try refusal { $0.depth = 2 } == "has folders within each other deeper than 2 levels")
    #expect(try refusal { $0.pathLength = 20 }.hasPrefix("has a path of more than 20 bytes"))
  }

  @Test("A property list of 1 GiB is refused before anything of it is copied")
  func largeList() throws {
    let scratch = try Scratch()
    let bundle = try SampleApp().write(in: scratch.path)
    try #require(truncate("\(bundle)/Info.plist", 1 << 30) == 0)
    let finding = try #require(AppBundle.check(at: bundle, isDevelopment: false).1.errors.about("Info.plist"))
    #expect(finding.found == "the property list has more than 1 MiB")
    try expectNothingPlaced(bundle, scratch)
  }

  @Test("A folder with more names than the bound is read no further")
  func manyEntries() throws {
    let scratch = try Scratch()
    let bundle = try SampleApp().write(in: scratch.path)
    for number in 0..<2000 { close(open("\(bundle)/\(number)", O_CREAT | O_WRONLY, 0o600)) }
    var limits = BundleLimits()
    limits.entries = 1000
    #expect(
      AppBundle.check(at: bundle, isDevelopment: false, limits: limits).1.errors.first?.found
        == "has more than 1000 files and folders")
    try expectNothingPlaced(bundle, scratch, limits: limits)
  }

  @Test("Modes are what an app needs, whatever those of the source are")
  func modes() throws {
    let scratch = try Scratch()
    let bundle = try SampleApp().write(in: scratch.path)
    chmod("\(bundle)/Info.plist", 0o666)
    chmod("\(bundle)/Sessions", 0o777)
    chmod("\(bundle)/Extensions", 0o3777)
    let placed = try AppInstaller(root: "\(scratch.path)/apps", isDevelopment: false).place(from: bundle)
    #expect(try Files.identity(of: "\(placed.path)/Info.plist").mode & 0o7777 == 0o644)
    #expect(try Files.identity(of: placed.executablePath).mode & 0o7777 == 0o755)
    #expect(try Files.identity(of: placed.path).mode & 0o7777 == 0o755)
    #expect(try Files.identity(of: "\(placed.path)/Extensions").mode & 0o7777 == 0o755)
  }

  @Test("What isn't an app's folder isn't one", arguments: ["file.app", "Folder", "gone.app", ".app"])
  func noApp(name: String) throws {
    let scratch = try Scratch()
    try Files.makeDirectories("\(scratch.path)/Folder", mode: 0o755)
    try Files.makeDirectories("\(scratch.path)/.app", mode: 0o755)
    try Data().write(to: URL(fileURLWithPath: "\(scratch.path)/file.app"))
    let (description, findings) = AppBundle.check(at: "\(scratch.path)/\(name)", isDevelopment: false)
    #expect(description == nil && findings.errors.count == 1)
    try expectNothingPlaced("\(scratch.path)/\(name)", scratch)
  }

  @Test("Property lists of any bytes are answered, not trusted")
  func fuzzedLists() throws {
    let seed = UInt64.random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    let scratch = try Scratch()
    for format in [PropertyListSerialization.PropertyListFormat.xml, .binary, .openStep] {
      var app = SampleApp()
      app.format = format
      let bundle = try app.write(in: scratch.path)
      let path = URL(fileURLWithPath: "\(bundle)/Info.plist")
      let original = Array(try Data(contentsOf: path))
      for _ in 0..<300 {
        var bytes = original
        for _ in 0...random.below(6) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
        try Data(bytes).write(to: path)
        let (description, findings) = AppBundle.check(at: bundle, isDevelopment: false)
        #expect((description == nil) == findings.contains { $0.severity == .error }, "seed \(seed)")
        if let description {
          #expect(BundleNames.isIdentifier(description.identifier) && BundleNames.isVersion(description.version))
        }
      }
    }
  }
}
