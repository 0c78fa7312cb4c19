import LinuxSystem

@testable import AppBundles

/// Where installations of a test's scratch folder go.
func root(_ scratch: Scratch) -> String { "\(scratch.path)/apps" }

/// Installs an app of a test's.
func install(
  _ app: SampleApp, _ scratch: Scratch, name: String = "Sessions.app", sharing: Set<String> = []
) throws -> PlacedApp {
  let folder = try Files.temporaryDirectory(in: scratch.path, prefix: "source-")
  let bundle = try app.write(in: folder, name: name)
  return try AppInstaller(root: root(scratch), isDevelopment: false).place(from: bundle, sharedGroups: sharing)
}
