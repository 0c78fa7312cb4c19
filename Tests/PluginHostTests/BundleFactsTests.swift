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
    #expect(none.contains("Contents/Info.plist: not a property list"), "\(none)")
    let device = try refusal { symlink("/dev/zero", try contents($0)) }
    #expect(device.hasSuffix("Contents/Info.plist: not a regular file"), "\(device)")
    let neither = try refusal { _ = try contents($0) }
    #expect(
      neither.hasSuffix(".appex: is a folder without an Info.plist; name an .appex, which has one, or an .so"),
      "\(neither)")
    let both = try refusal {
      let list = Data("<plist><dict><key>CFBundleExecutable</key><string>a</string></dict></plist>".utf8)
      try list.write(to: URL(fileURLWithPath: $0))
      try Data().write(to: URL(fileURLWithPath: try contents($0)))
    }
    #expect(both.isEmpty, "\(both)")
  }

  /// In text as in the binary format.
  @Test func aDeepListIsRefused() throws {
    let deep = "<plist>" + String(repeating: "<array>", count: 100_000)
    let text = try refusal { try Data(deep.utf8).write(to: URL(fileURLWithPath: $0)) }
    #expect(text.hasSuffix("nested deeper than 64 levels"), "\(text)")
  }

  @Test func whatFoundationWritesIsRead() throws {
    let list: [String: Any] = [
      "CFBundleExecutable": "a.so", "CFBundleIdentifier": "naïve ü",
      "EXAppExtensionAttributes": ["EXExtensionPointIdentifier": BundleFacts.requiredExtensionPoint],
    ]
    let text = try refusal {
      let data = try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
      try data.write(to: URL(fileURLWithPath: $0))
      let path = ($0 as NSString).deletingLastPathComponent
      #expect(try BundleFacts(readingFrom: path).executable == "a.so")
    }
    #expect(text.isEmpty, "\(text)")
  }
}
