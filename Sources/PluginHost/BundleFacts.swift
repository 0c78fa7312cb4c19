internal import Foundation
internal import Glibc
internal import LinuxSystem

/// What the host reads of an extension's `Info.plist` (spec, section 3.2).
public struct BundleFacts: Sendable {
  /// From the bundle's folder.
  public let executable: String
  public let identifier: String
  public let extensionPoint: String?

  public static let requiredExtensionPoint = "com.apple.background-asset-downloader-extension"

  private static let longest = 1 << 20

  public init(readingFrom bundle: String) throws(HostError) {
    // As on iOS, or as on macOS; a bundle that has both is taken for the former.
    let isDeep =
      (try? Files.identity(of: bundle + "/Info.plist")) == nil
      && (try? Files.identity(of: bundle + "/Contents/Info.plist")) != nil
    let path = bundle + (isDeep ? "/Contents/Info.plist" : "/Info.plist")
    // The bundle is anyone's: a FIFO in its place would keep the host waiting.
    let named = try RunPath(opening: path)
    try named.checkRegular()
    let file = try named.reading()
    let bytes: [UInt8]
    do throws(SystemCallError) {
      bytes = try file.readAll(limit: Self.longest + 1)
    } catch {
      throw .input("\(path): \(SystemCallError.message(error.code))")
    }
    guard bytes.count <= Self.longest else { throw .input("\(path): more than 1 MiB") }
    do throws(BinaryPropertyList.Objection) {
      try BinaryPropertyList.check(bytes)
    } catch {
      throw .input("\(path): \(error.description)")
    }
    guard let plist = try? PropertyListSerialization.propertyList(from: Data(bytes), format: nil) as? [String: Any]
    else {
      throw .input("\(path): not a property list")
    }
    guard let executable = plist["CFBundleExecutable"] as? String, !executable.isEmpty else {
      throw .input("\(path): CFBundleExecutable must name the extension's .so")
    }
    self.executable = isDeep ? "Contents/MacOS/" + executable : executable
    identifier = plist["CFBundleIdentifier"] as? String ?? ""
    extensionPoint = (plist["EXAppExtensionAttributes"] as? [String: Any])?["EXExtensionPointIdentifier"] as? String
    if let extensionPoint, extensionPoint != Self.requiredExtensionPoint {
      throw .input(
        "\(path): EXExtensionPointIdentifier is \(extensionPoint); it must be \(Self.requiredExtensionPoint)")
    }
  }
}
