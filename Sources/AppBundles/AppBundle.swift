internal import Basics
internal import Glibc
internal import LinuxSystem

/// An app as a folder: `Name.app` with its `Info.plist`, executable and extension.
package enum AppBundle {
  /// Reads a `Name.app` folder, in the layout of iOS or of macOS (`Contents/`), and holds it against sections 3.1 to 3.3 of the
  /// specification, L9 and L16: every violation at once.
  ///
  /// Follows no link out of the bundle, waits for nothing, and reads at most 1 MiB of each property list. Blocks; any thread may
  /// call it.
  ///
  /// - Parameter isDevelopment: plain http to loopback hosts is allowed (L17).
  /// - Returns: the description is nil where there is an error among the findings.
  package static func check(
    at path: String, isDevelopment: Bool, limits: BundleLimits = BundleLimits()
  ) -> (AppDescription?, [Finding]) {
    let (description, findings, real) = checkKeys(at: path, isDevelopment: isDevelopment)
    guard let real else { return (nil, findings) }
    let problems = TreePass.problems(of: real, limits: limits)
    return (problems.isEmpty ? description : nil, findings + problems)
  }

  /// The same for the app in an archive, as `AppInstaller.place(from:sharedGroups:)` takes it: it is unpacked into a folder of TMPDIR.
  ///
  /// - Throws: what kept it from being unpacked, where that isn't the archive.
  package static func checkArchive(
    _ path: String, isDevelopment: Bool, limits: BundleLimits = BundleLimits()
  ) throws(BundleError) -> (AppDescription?, [Finding]) {
    let place = TemporaryPlace()
    let folder = try place.makeFolder()
    defer { Files.removeTree(folder) }
    do throws(BundleError) {
      guard case .archive(let file) = try BundleSource(path) else {
        return check(at: path, isDevelopment: isDevelopment, limits: limits)
      }
      let staging = try place.makeStaging(in: folder)
      let bundle = try staging.unpack(file, limits: limits)
      // The staging area is removed with its last reference.
      return withExtendedLifetime(staging) { check(at: bundle, isDevelopment: isDevelopment, limits: limits) }
    } catch {
      switch error.code {
      case .noSpace: throw place.error(because: error.reason, .noSpace)
      case .systemRefused: throw error
      default: break
      }
      // The archive is named by who shows this, and the remedy has a line of its own.
      let isOfArchive = error.subject == path || error.subject == (try? Files.real(path))
      let isKnown = [BundleError.Code.notABundle, .unsafeContent, .tooLarge, .damagedArchive].contains(error.code)
      let found = isOfArchive ? (isKnown ? "a file that " : "") + error.reason : "\(error.subject): \(error.reason)"
      let finding = Finding(
        file: "", expected: "a folder whose name ends in .app, or an archive with one", found: found,
        remedy: error.remedy)
      return (nil, [finding])
    }
  }

  /// Without the files that nothing refers to. `path` is the folder's own one, nil where there is no app.
  static func checkKeys(
    at path: String, isDevelopment: Bool
  ) -> (description: AppDescription?, findings: [Finding], path: String?) {
    let expected = "a folder whose name ends in .app"
    do throws(SystemCallError) {
      let real = try Files.real(path)
      // What a link is called counts for no more than what it leads to.
      let bundleName = real.pathNames.last ?? ""
      guard BundleNames.isBundle(bundleName, suffix: ".app") else {
        return (nil, [Finding(file: "", expected: expected, found: KeyReader.text(of: bundleName))], nil)
      }
      let bundle = try BundleFolder(opening: real)
      var check = AppCheck(bundleName: bundleName, isDevelopment: isDevelopment)
      let description = check.run(in: bundle)
      return (description, check.findings, real)
    } catch {
      let name = path.pathNames.last ?? ""
      let found = error.code == ENOTDIR ? "something else at \(name)" : SystemCallError.message(error.code)
      return (nil, [Finding(file: "", expected: expected, found: found)], nil)
    }
  }
}

/// The folder of TMPDIR, in which an archive is unpacked to be checked. What is wrong with it is no fault of the archive.
private struct TemporaryPlace {
  private let chosen = getenv("TMPDIR").map { String(cString: $0) } ?? ""
  private var path: String { chosen.isEmpty ? "/tmp" : chosen }

  func makeFolder() throws(BundleError) -> String {
    do throws(SystemCallError) {
      return try Files.temporaryDirectory(in: path, prefix: "outrider-check-")
    } catch {
      throw self.error(because: "\(error.call): \(SystemCallError.message(error.code))")
    }
  }

  func makeStaging(in folder: String) throws(BundleError) -> StagingArea {
    do throws(BundleError) {
      return try StagingArea(in: try AppsRoot(folder, isCreating: false))
    } catch {
      throw self.error(because: error.reason)
    }
  }

  func error(because reason: String, _ code: BundleError.Code = .systemRefused) -> BundleError {
    BundleError(
      code, chosen.isEmpty ? path : "TMPDIR (\(path))", "no archive can be unpacked there to be checked (\(reason))",
      remedy: "name a folder in TMPDIR that can be written to and has room")
  }
}
