import Foundation
import Glibc
import Testing

@testable import PluginHost

/// An `Info.plist` is whatever someone put into a bundle.
@Suite(.timeLimit(.minutes(1))) struct BundleFactsTests {
  private func refusal(_ prepare: (String) throws -> Void) throws -> String {
    let bundle = NSTemporaryDirectory() + "outrider-bundle-\(UUID().uuidString).appex"
    try FileManager.default.createDirectory(atPath: bundle, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: bundle) }
    try prepare(bundle + "/Info.plist")
    do throws(HostError) {
      _ = try BundleFacts(readingFrom: bundle)
      return ""
    } catch {
      guard case .input(let text) = error else { return "not an input error: \(error)" }
      return text
    }
  }

  @Test(.timeLimit(.minutes(1))) func aFIFOKeepsNobodyWaiting() throws {
    let text = try refusal { mkfifo($0, 0o600) }
    #expect(text.hasSuffix("Info.plist: not a regular file"), "\(text)")
  }

  @Test func aDeviceIsNoFile() throws {
    let text = try refusal { symlink("/dev/zero", $0) }
    #expect(text.hasSuffix("Info.plist: not a regular file"), "\(text)")
  }

  @Test func aFileBeyondTheBoundIsRefused() throws {
    let text = try refusal { try Data(count: 1 << 20 | 1).write(to: URL(fileURLWithPath: $0)) }
    #expect(text.hasSuffix("more than 1 MiB"), "\(text)")
  }

  @Test func theLayoutOfMacOSIsReadAsStrictly() throws {
    func contents(_ flat: String) throws -> String {
      let folder = (flat as NSString).deletingLastPathComponent + "/Contents"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
      return folder + "/Info.plist"
    }
    let none = try refusal { try Data("<plist/>".utf8).write(to: URL(fileURLWithPath: try contents($0))) }
    #expect(none.hasSuffix("Contents/Info.plist: not a property list"), "\(none)")
    let device = try refusal { symlink("/dev/zero", try contents($0)) }
    #expect(device.hasSuffix("Contents/Info.plist: not a regular file"), "\(device)")
    let neither = try refusal { _ = try contents($0) }
    #expect(neither.hasSuffix(".appex/Info.plist: No such file or directory"), "\(neither)")
    let both = try refusal {
      let list = Data("<plist><dict><key>CFBundleExecutable</key><string>a</string></dict></plist>".utf8)
      try list.write(to: URL(fileURLWithPath: $0))
      try Data().write(to: URL(fileURLWithPath: try contents($0)))
    }
    #expect(both.isEmpty, "\(both)")
  }

  /// As many arrays within each other as there are objects, each with the next one twice.
  private func nested(_ levels: Int, last: [UInt8]) -> [UInt8] {
    var bytes = Array("bplist00".utf8)
    var offsets: [UInt16] = []
    for level in 0..<levels {
      offsets.append(UInt16(bytes.count))
      bytes += [0xa2, UInt8(level + 1), UInt8(level + 1)]
    }
    offsets.append(UInt16(bytes.count))
    bytes += last
    let table = bytes.count
    for offset in offsets { bytes += [UInt8(offset >> 8), UInt8(offset & 0xff)] }
    bytes += [0, 0, 0, 0, 0, 0, 2, 1]
    for value in [offsets.count, 0, table] {
      bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    return bytes
  }

  /// Foundation takes a set for a dictionary, and ends the process.
  @Test func setsAndReferencesAreNone() throws {
    for marker in [0xb1, 0xc1, 0x80, 0x70, 0xe0, 0xf0] as [UInt8] {
      let text = try refusal { try Data(nested(0, last: [marker, 0])).write(to: URL(fileURLWithPath: $0)) }
      #expect(text.hasSuffix("not a property list"), "\(marker): \(text)")
    }
  }

  /// What passes doesn't end the process that decodes it.
  @Test func mutatedListsAreDecodedOrRefused() throws {
    let list: [String: Any] = [
      "CFBundleExecutable": "x.so", "CFBundleIdentifier": "a.b", "n": [1, 2.5, true, Data([1, 2]), Date(), "é"],
      "EXAppExtensionAttributes": ["EXExtensionPointIdentifier": BundleFacts.requiredExtensionPoint],
    ]
    let bytes = Array(try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0))
    var random = SystemRandomNumberGenerator()
    for _ in 0..<30_000 {
      var changed = bytes
      for _ in 0...Int.random(in: 0..<4, using: &random) {
        changed[Int.random(in: 6..<changed.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      guard (try? BinaryPropertyList.check(changed)) != nil else { continue }
      let decoded = try? PropertyListSerialization.propertyList(from: Data(changed), format: nil)
      _ = (decoded as? [String: Any])?["CFBundleExecutable"] as? String
    }
  }

  @Test(.timeLimit(.minutes(1))) func sharedObjectsDontMultiply() throws {
    let text = try refusal { try Data(nested(40, last: [0x50])).write(to: URL(fileURLWithPath: $0)) }
    #expect(text.contains("stands for more than"), "\(text)")
  }

  @Test func boundsOfBinaryLists() throws {
    #expect(throws: BinaryPropertyList.Objection.tooDeep) { try BinaryPropertyList.check(nested(70, last: [0x50])) }
    // The last array holds the first one.
    #expect(throws: BinaryPropertyList.Objection.tooDeep) { try BinaryPropertyList.check(nested(1, last: [0xa1, 0])) }
    #expect(throws: BinaryPropertyList.Objection.malformed) {
      try BinaryPropertyList.check(nested(1, last: [0xa1, 9]))
    }
    #expect(throws: BinaryPropertyList.Objection.malformed) { try BinaryPropertyList.check(Array("bplist00".utf8)) }
    try BinaryPropertyList.check(nested(10, last: [0x50]))
  }

  /// What Foundation writes passes; what is cut or changed anywhere never traps.
  @Test func ordinaryListsPass() throws {
    let list: [String: Any] = [
      "CFBundleExecutable": "a.so", "CFBundleIdentifier": "naïve ü", "Date": Date(timeIntervalSince1970: 0),
      "Data": Data(repeating: 7, count: 70_000), "Numbers": (0..<300).map { $0 }, "Real": 1.5, "Flag": true,
      "EXAppExtensionAttributes": ["EXExtensionPointIdentifier": BundleFacts.requiredExtensionPoint],
    ]
    let bytes = Array(try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0))
    try BinaryPropertyList.check(bytes)
    for length in stride(from: 0, to: bytes.count, by: 997) { try? BinaryPropertyList.check(Array(bytes[..<length])) }
    var random = SystemRandomNumberGenerator()
    for _ in 0..<2000 {
      var changed = bytes
      // Where sizes and references are: at either end.
      let index = Int.random(in: 0..<400, using: &random)
      changed[index < 200 ? index : bytes.count - 1 - (index - 200)] = .random(in: 0...255, using: &random)
      try? BinaryPropertyList.check(changed)
    }
    let path = NSTemporaryDirectory() + "outrider-bundle-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: path) }
    try Data(bytes).write(to: URL(fileURLWithPath: path + "/Info.plist"))
    #expect(try BundleFacts(readingFrom: path).executable == "a.so")
  }
}
