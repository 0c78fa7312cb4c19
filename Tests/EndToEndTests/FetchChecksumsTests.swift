import AssetModel
import Foundation
import Testing

@testable import outrider

/// Lists of digests as sha256sum(1) prints them, and fields as people write them.
@Suite(.timeLimit(.minutes(1))) struct FetchChecksumsTests {
  private static let (one, two) = (String(repeating: "1", count: 64), String(repeating: "a", count: 64))

  private static func read(_ text: String) throws -> [String: String] {
    let digests = try FetchChecksums.digests(in: Data(text.utf8), of: "list")
    return Dictionary(uniqueKeysWithValues: digests.map { ($0.key.text, $0.value.hex) })
  }

  @Test func linesOfBothKinds() throws {
    #expect(
      try Self.read("# by hand\n\(Self.one)  a.bin\n\n\(Self.two.uppercased()) *./b c.bin\r\n\(Self.one)  d/e\n")
        == ["a.bin": Self.one, "b c.bin": Self.two, "d/e": Self.one])
    #expect(try Self.read("\(Self.one)   a") == [" a": Self.one], "a name may begin with a blank")
    #expect(try Self.read("\(Self.one)  **") == ["**": Self.one])
    #expect(try Self.read("\(Self.one)  a\n\(Self.one) *a\n").count == 1)
  }

  @Test func linesWithATag() throws {
    #expect(
      try Self.read("SHA256 (a.bin) = \(Self.one)\nSHA256 (./b (c) = \(Self.one)) = \(Self.two.uppercased())\r\n")
        == ["a.bin": Self.one, "b (c) = \(Self.one)": Self.two])
    #expect(try Self.read(#"\SHA256 (a\\b\nc) = \#(Self.one)"#) == ["a\\b\nc": Self.one])
    #expect(try Self.read("SHA256 (a) = \(Self.one)\n\(Self.two)  b\n") == ["a": Self.one, "b": Self.two])
  }

  @Test("what OpenPGP puts around a list isn't part of it") func signed() throws {
    let signed = """
      -----BEGIN PGP SIGNED MESSAGE-----
      Hash: SHA256

      # a.iso: 5 bytes
      SHA256 (a.iso) = \(Self.one)
      - - not a file
      """
    let signature = """

      -----BEGIN PGP SIGNATURE-----

      iQIzBAEBCAAdFiEE
      =abcd
      -----END PGP SIGNATURE-----

      """
    #expect(throws: Failure.self, "a dash is escaped there, and this line stays one") {
      try Self.read(signed + signature)
    }
    let list = signed.replacing("- - not a file", with: "- \(Self.two)  -b")
    #expect(try Self.read(list + signature) == ["a.iso": Self.one, "-b": Self.two])
    #expect(try Self.read((list + signature).replacing("\n", with: "\r\n")).count == 2)
    #expect(throws: Failure.self, "without the first line it is no signature") {
      try Self.read("SHA256 (a) = \(Self.one)\n" + signature)
    }
  }

  @Test("lines about other digests are passed over beside those of SHA-256") func otherDigests() throws {
    let others = [
      "MD5 (a) = 00", "SHA512 (a) = \(Self.one)\(Self.one)", "SIZE (a) = 5", "BLAKE2b (a) = 00",
      "\(Self.one)\(Self.one)  a", "\(Self.one.prefix(32)) *a", "\\\(Self.one.prefix(40))  a\\n",
    ]
    let ours = "SHA256 (a) = \(Self.one)"
    let lines = others + [ours]
    for order in [lines, lines.reversed()] {
      #expect(try Self.read(order.joined(separator: "\n")) == ["a": Self.one])
    }
    let failure = #expect(throws: Failure.self) { try Self.read("\n" + others[0]) }
    #expect(failure?.message.contains("line 2: is of MD5") == true)
    let long = #expect(throws: Failure.self) { try Self.read(others[4]) }
    #expect(long?.message.contains("line 1: is of SHA-512, and of digests only SHA-256 is taken") == true)
    // Neither as many digits as a digest has, nor one without a name.
    for line in [
      "\(Self.one)0  a", "\(Self.one)\(Self.one)", "\(Self.one)\(Self.one)  ", "\(ours)\n\(Self.one.prefix(30))  a",
    ] {
      #expect(throws: Failure.self) { try Self.read(line) }
    }
  }

  @Test("a byte order mark is no digit") func byteOrderMark() throws {
    #expect(try Self.read("\u{feff}\(Self.one)  a\n") == ["a": Self.one])
  }

  @Test("zero bytes end lines as they are") func zero() throws {
    #expect(
      try Self.read("\(Self.one)  a\nb\0\(Self.two) *c\r\0SHA256 (d\\n) = \(Self.one)\0")
        == ["a\nb": Self.one, "c\r": Self.two, "d\\n": Self.one])
  }

  @Test("a name of other bytes is passed over: no file has it here") func otherBytes() throws {
    let name = Data([0x61, 0xff])
    let (digest, good) = (Data(Self.two.utf8), Data("\(Self.one)  a\n".utf8))
    let lines = [
      digest + Data("  ".utf8) + name, Data("SHA256 (".utf8) + name + Data(") = ".utf8) + digest,
      Data("\\".utf8) + digest + Data("  ".utf8) + name + Data("\\n".utf8),
    ]
    for line in lines {
      for list in [good + line, line + Data("\n".utf8) + good] {
        #expect(try FetchChecksums.digests(in: list, of: "list").map { $0.key.text } == ["a"])
      }
      let failure = #expect(throws: Failure.self) { try FetchChecksums.digests(in: line, of: "list") }
      #expect(failure?.message.contains("line 1: its name isn't UTF-8") == true)
    }
    let zero = Data([0])
    #expect(try FetchChecksums.digests(in: lines[0] + zero + good.dropLast() + zero, of: "list").count == 1)
  }

  @Test("a digest alone is for another option") func alone() {
    let failure = #expect(throws: Failure.self) { try Self.read(Self.one) }
    #expect(failure?.message.contains("--sha256") == true)
  }

  @Test func escapedNames() throws {
    #expect(try Self.read(#"\\#(Self.one)  a\\b\nc\rd"#) == ["a\\b\nc\rd": Self.one])
    #expect(try Self.read(#"\#(Self.one)  a\\b"#) == [#"a\\b"#: Self.one], "without the mark nothing is escaped")
  }

  @Test(
    arguments: [
      "x  a", "\(one) a", "\(one)", "\(one)  ", "\(one)a  b", "\(one)\t\ta", #"\\#(one)  a\x"#, #"\\#(one)  a\"#,
      "\(one)  a\0b", "\(one)  a\n\(two)  a", "\(one)  a\nnothing",
      "SHA256 () = \(one)", "SHA256 (a) = \(one)0", "SHA256 (a) = \(one.dropLast())", "SHA256 (a) =  \(one)",
      "SHA256(a) = \(one)", "SHA256 (a = \(one)", "SHA1 (a) = \(one.prefix(40))", "SHA512 (a) = \(one)\(one)",
      "sha256 (a) = \(one)", "SHA256 (a\0b) = \(one)", #"\SHA256 (a\x) = \#(one)"#,
      "SHA256 (a) = \(one)\n\(two)  a",
    ])
  func whatIsNoListIsRefused(text: String) {
    let failure = #expect(throws: Failure.self) { try FetchChecksums.digests(in: Data(text.utf8), of: "list") }
    #expect(failure?.status == 64 && failure?.message.contains("line ") == true)
  }

  @Test(arguments: ["../a", "/a", "a/../../b", "./..", "..", ".", "a/..", "//a", #"\\#(one)  ../a"#])
  func namesOutsideAreRefused(name: String) {
    let line = name.hasPrefix("\\") ? name : "\(Self.one)  \(name)"
    for line in name.hasPrefix("\\") ? [line] : [line, "SHA256 (\(name)) = \(Self.one)"] {
      let failure = #expect(throws: Failure.self) { try FetchChecksums.digests(in: Data(line.utf8), of: "list") }
      #expect(failure?.message.contains("outside") == true)
    }
  }

  /// Against the program itself, with names that it escapes and others.
  @Test func sha256sum() throws {
    try #require(FileManager.default.isExecutableFile(atPath: "/usr/bin/sha256sum"))
    let folder = NSTemporaryDirectory() + "outrider-sums-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let names = ["a", "b c", "d\ne", "f\\g", "*h", " i", "ü", "j\rk"]
    for name in names { try name.write(toFile: "\(folder)/\(name)", atomically: false, encoding: .utf8) }
    for mark in ["-t", "-b", "--tag", "--zero", "-bz"] {
      let sums = try Workspace.run(
        ["-c", #"cd "$1" && shift && sha256sum "$@""#, "sh", folder, mark, "--"] + names, program: "/bin/sh")
      let found = try Self.read(sums.output)
      #expect(Set(found.keys) == Set(names), "\(found)")
    }
  }

  @Test(
    arguments: [
      ("A: b", "A", "b"), ("A:b", "A", "b"), ("A:  b c \t", "A", "b c"), ("A:", "A", ""), ("A: b: c", "A", "b: c"),
      ("A: \u{301}v", "A", "\u{301}v"),
      ("X-Ü", nil, nil), ("A b: c", nil, nil), (": b", nil, nil), ("A: b\nC: d", nil, nil), ("A: b\rC: d", nil, nil),
      ("", nil, nil), ("Range: bytes=0-1", nil, nil), ("If-None-Match: x", nil, nil), ("HOST: x", nil, nil),
      ("Content-Length: 1", nil, nil), ("Proxy-Authorization: x", nil, nil), ("A\0: b", nil, nil),
    ] as [(String, String?, String?)])
  func fields(text: String, name: String?, value: String?) throws {
    guard let name, let value else {
      let failure = #expect(throws: Failure.self) { try FetchHeaders.parse([text]) }
      #expect(failure?.status == 64 && failure?.message.hasPrefix("--header") == true)
      return
    }
    #expect(try FetchHeaders.parse([text]) == [Download.Header(name: name, value: value)])
  }

  @Test func fieldsHaveBounds() {
    #expect(throws: Failure.self) { try FetchHeaders.parse(Array(repeating: "A: b", count: 65)) }
    #expect(throws: Failure.self) { try FetchHeaders.parse(["A: " + String(repeating: "b", count: 20_000)]) }
    let failure = #expect(throws: Failure.self) { try FetchHeaders.parse(["Authorization Bearer secret"]) }
    #expect(failure?.message.contains("secret") == false)
  }
}
