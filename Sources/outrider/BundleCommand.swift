internal import AppBundles
internal import ArgumentParser
internal import AssetModel
internal import LinuxSystem

struct BundleCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bundle", abstract: "Checks an app before it is installed, or puts one together.",
    discussion: """
      EXAMPLES
        outrider bundle check Sessions.app
        outrider bundle create --executable Sessions --info app.yaml \\
          --extension SessionsDownloader.so -o Sessions.app
      """,
    subcommands: [Check.self, Create.self])
}

extension BundleCommand {
  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check", abstract: "Names every key and file of an app that isn't as it must be, all at once.",
      discussion: """
        This is the check that an installation makes. Nothing is installed, and nothing of the app is run. An app with \
        an error can't be installed; a warning prevents nothing.

        EXAMPLES
          outrider bundle check Sessions.app
          outrider bundle check Sessions.tar.gz --json

        EXIT STATUS
          0 no error    65 errors    66 there is no such app
          73 an archive can't be unpacked in the folder of TMPDIR
        """)

    @Argument(help: ArgumentHelp("The app's folder, or an archive with it.", valueName: "app"), completion: .file())
    var path: String
    @Flag(help: "Allow a manifest over http from a loopback host, as a service in development mode does.")
    var development = false
    @Flag(help: "Print one JSON object on standard output.") var json = false

    struct Report: Encodable {
      var app: AppDescription?
      var findings: [Finding]
    }

    func run() {
      do {
        guard Files.exists(path) else {
          throw Failure(66, "\(path): there is no such folder or archive; name an app, for example Sessions.app")
        }
        let found = try? Files.identity(of: path)
        if let found, !found.isDirectory, !found.isRegularFile {
          throw Failure(66, "\(path) is neither a folder nor an archive; name an app, for example Sessions.app")
        }
        let (app, findings) = try check(isArchive: found?.isRegularFile == true)
        let status: Int32 = findings.contains { $0.severity == .error } ? 65 : 0
        if json {
          try Output.json(Report(app: app, findings: findings))
        } else {
          FindingList.show(findings, of: path)
          Output.line(FindingList.summary(path, app, findings))
        }
        Exit.leave(status)
      } catch {
        Exit.with(error)
      }
    }

    private func check(isArchive: Bool) throws -> (AppDescription?, [Finding]) {
      let isDevelopment = ServicePlace.isDevelopment(development)
      guard isArchive else { return AppBundle.check(at: path, isDevelopment: isDevelopment) }
      do throws(BundleError) {
        return try AppBundle.checkArchive(path, isDevelopment: isDevelopment)
      } catch {
        throw Failure(FindingList.exitStatus(error.code), error.description)
      }
    }
  }

  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "create",
      abstract: "Puts an app together from an executable, an extension and what they are called.",
      usage: """
        outrider bundle create --executable <file> --extension <file>
          --info <file> [--entitlements <file>] -o <app>
          [--force] [--development] [--json]
        """,
      discussion: """
        The app is checked before it gets its name, and nothing is left of one that isn't right. --info takes a property \
        list, or a YAML file with these keys:

          identifier                 com.example.sessions
          name                       for people; otherwise the app's file name
          version, build             "1.0", "7"
          manifestURL                https://assets.example.com/manifest.json
          appGroups                  [group.com.example.sessions]
          downloadAllowance          200MiB; before the first launch
          essentialDownloadAllowance 20MiB; for those, the manifest included
          allowedDomains             [assets.example.com, "*.example.net"]
          maxInstallSize             500MiB; on disk
          essentialMaxInstallSize    40MiB; on disk
          extensionIdentifier        otherwise the app's and .downloader
          isManaged, usesAppleHosting, appGroupID  for managed apps

        EXAMPLES
          outrider bundle create --executable Sessions --info app.yaml \\
            --extension SessionsDownloader.so -o Sessions.app
          outrider bundle create --executable Sessions --info Info.plist \\
            --entitlements Sessions.entitlements --extension D.appex -o Sessions.app

        EXIT STATUS
          0 made   65 it would have errors   66 a part can't be read   73 not written
        """)

    @Option(help: "The app's executable.", completion: .file()) var executable: String
    @Option(help: "The downloader extension: a .so, or an .appex folder.", completion: .file())
    var `extension`: String
    @Option(help: "What the app is called and needs: a property list or a YAML file.", completion: .file())
    var info: String
    @Option(help: "A property list with the app's groups.", completion: .file()) var entitlements: String?
    @Option(name: [.short, .long], help: "Where the app is to be, for example Sessions.app.", completion: .file())
    var output: String
    @Flag(help: "Replace an app that is there.") var force = false
    @Flag(help: "Allow a manifest over http from a loopback host, as a service in development mode does.")
    var development = false
    @Flag(help: "Print one JSON object on standard output.") var json = false

    func run() {
      do throws(BundleError) {
        let parts = AppParts(executable: executable, extension: `extension`, info: info, entitlements: entitlements)
        let (app, findings) = try AppBundle.create(
          at: output, from: parts, isDevelopment: ServicePlace.isDevelopment(development), isReplacing: force)
        if json {
          try? Output.json(Check.Report(app: app, findings: findings))
        } else {
          FindingList.show(findings, of: output)
          Output.line(FindingList.summary(output, app, findings))
        }
        Exit.leave(0)
      } catch {
        if !json { FindingList.show(error.findings, of: output) }
        Exit.leave(FindingList.exitStatus(error.code), error.description)
      }
    }
  }
}

/// Findings as people read them.
enum FindingList {
  /// `path`: what they are about, by which those of no single file in it are named.
  static func show(_ findings: [Finding], of path: String) {
    let rows = findings.map { finding in
      [
        finding.severity.rawValue, Printable.text(finding.file, limit: 60), Printable.text(finding.key, limit: 80),
        Printable.text(finding.expected, limit: 160), Printable.text(finding.found, limit: 160),
      ]
    }
    for (row, finding) in zip(rows, findings) {
      let place = [row[1], row[2]].filter { !$0.isEmpty }.joined(separator: ": ")
      Output.line("\(row[0])  \(place.isEmpty ? Printable.text(path) : place)")
      Output.line("  expected  \(row[3])")
      Output.line("  found     \(row[4])")
      if let remedy = finding.remedy { Output.line("  remedy    \(Printable.text(remedy, limit: 200))") }
    }
  }

  static func summary(_ path: String, _ app: AppDescription?, _ findings: [Finding]) -> String {
    let errors = findings.count { $0.severity == .error }
    let warnings = findings.count - errors
    func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
    let verdict =
      app.map { "\(Printable.text($0.identifier, limit: 200)) \($0.version) can be installed" } ?? "can't be installed"
    let figures = [errors > 0 ? count(errors, "error") : "", warnings > 0 ? count(warnings, "warning") : ""]
      .filter { !$0.isEmpty }
    return ([Printable.text(path) + ": " + verdict] + figures).joined(separator: ", ")
  }

  /// As sysexits.h has it: bad data, no input, can't create.
  static func exitStatus(_ code: BundleError.Code) -> Int32 {
    switch code {
    case .invalid, .notABundle, .unsafeContent, .tooLarge, .damagedArchive, .groupTaken, .groupNotDeclared: 65
    case .unreadable, .notInstalled: 66
    case .noSpace, .systemRefused: 73
    }
  }
}
