internal import Glibc
internal import LinuxSystem

/// The one app in what was unpacked: at its top, or in a folder there.
struct UnpackedApp {
  var name: String
  var path: String

  static func find(in folder: String, archive: String) throws(BundleError) -> UnpackedApp {
    var found = apps(in: folder)
    if found.isEmpty {
      for name in (try? Files.names(in: folder)) ?? [] where isFolder("\(folder)/\(name)") && name != "__MACOSX" {
        found += apps(in: "\(folder)/\(name)")
      }
    }
    guard let app = found.first else {
      throw BundleError(
        .notABundle, archive, "has no Name.app at its top or one folder deep",
        remedy: "pack the app's folder itself: tar -czf Name.tar.gz Name.app")
    }
    guard found.count == 1 else {
      throw BundleError(
        .notABundle, archive, "has \(found.count) apps: \(found.prefix(3).map(\.name).joined(separator: ", "))",
        remedy: "pack each app into an archive of its own")
    }
    return app
  }

  private static func apps(in folder: String) -> [UnpackedApp] {
    ((try? Files.names(in: folder)) ?? [])
      .filter { $0.hasSuffix(".app") && isFolder("\(folder)/\($0)") }
      .map { UnpackedApp(name: $0, path: "\(folder)/\($0)") }
  }

  private static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && FileKind(mode: status.st_mode) == .folder
  }
}
