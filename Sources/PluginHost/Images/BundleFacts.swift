internal import Glibc
internal import LinuxSystem
internal import PropertyLists

/// What the host reads of an extension's `Info.plist` (spec, section 3.2).
package struct BundleFacts: Sendable {
  /// From the bundle's folder.
  package let executable: String
  package let identifier: String
  package let extensionPoint: String?

  package static let requiredExtensionPoint = "com.apple.background-asset-downloader-extension"

  package init(readingFrom bundle: String) throws(HostError) {
    // As on iOS, or as on macOS; a bundle that has both is taken for the former.
    let names = ["Info.plist", "Contents/Info.plist"]
    guard let name = names.first(where: { !Self.isMissing("\(bundle)/\($0)") }) else {
      throw .input("\(bundle): is a folder without an Info.plist; name an .appex, which has one, or an .so")
    }
    let isDeep = name != names[0]
    let path = "\(bundle)/\(name)"
    // The bundle is anyone's: a FIFO in its place would keep the host waiting.
    let named = try RunPath(opening: path)
    try named.checkRegular()
    let file = try named.reading()
    let bytes: [UInt8]
    do throws(SystemCallError) {
      bytes = try file.readAll(limit: PropertyList.maxBytes + 1)
    } catch {
      throw .input("\(path): \(SystemCallError.message(error.code))")
    }
    guard bytes.count <= PropertyList.maxBytes else { throw .input("\(path): more than 1 MiB") }
    let plist: [String: Any]
    do throws(PropertyList.ReadError) {
      plist = try PropertyList(bytes).root
    } catch {
      throw .input("\(path): \(error.description)")
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

  /// One that can't be looked at is there, as far as this can tell.
  private static func isMissing(_ path: String) -> Bool {
    do throws(SystemCallError) {
      _ = try Files.identity(of: path)
      return false
    } catch { return error.code == ENOENT }
  }
}
