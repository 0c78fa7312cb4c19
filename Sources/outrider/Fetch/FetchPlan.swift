internal import AssetModel
internal import Basics
internal import Downloads
internal import Foundation
internal import LinuxSystem

/// What one `outrider fetch` is asked for. There may be very many: a specification is made when it is needed.
struct FetchPlan: Sendable {
  struct Target: Sendable {
    var url: String
    var name: String
    var digest: ContentDigest?
  }

  static let app = "fetch"

  let targets: [Target]
  /// Those of all its URLs.
  let schemes: Set<String>
  let mode: FetchMode
  let mirrors: [String]
  let isForOutput: Bool
  /// A person waits for it.
  var isUrgent: Bool { transferClass == .foreground }
  private(set) var directory: String
  private let option: String
  private let transferClass: TransferClass
  private let headers: [Download.Header]
  private let chunks: ChunkList?

  init(_ command: FetchCommand) throws {
    let place = try FetchPlace(command.place, firstURL: command.urls.first, command.requests)
    (directory, option, isForOutput) = (place.directory, place.option, place.isForOutput)
    mode = place.isForOutput ? .ownPlace : command.place.mode
    transferClass = command.pace.foreground || place.isForOutput ? .foreground : .background
    if let there = try? Files.identity(of: directory), !there.isDirectory {
      throw Failure(66, "\(option): isn't a directory")
    }
    headers = try FetchHeaders.parse(command.requests.header)
    chunks = try command.checks.chunks.first.map { try ChunkListFile.read($0, of: command.checks.sha256.first) }
    let (targets, schemes) = try Self.targets(try command.allURLs(), name: place.name)
    self.targets = try Self.expecting(command.checks, targets)
    mirrors = command.checks.mirror
    self.schemes = schemes.union(
      try mirrors.map { mirror in
        let url: ParsedURL
        do throws(ParsedURL.Failure) { url = try ParsedURL(mirror) } catch {
          throw Failure(64, "--mirror '\(mirror)' isn't a URL: \(error)\(Self.remedy(mirror))")
        }
        try Self.check(url, "--mirror '\(mirror)'")
        return url.scheme
      })
  }

  private static func targets(
    _ entries: [FetchList.Entry], name: String?
  ) throws -> (targets: [Target], schemes: Set<String>) {
    var schemes: Set<String> = []
    var (urls, names): ([String], [String]) = ([], [])
    var seen: Set<ExactText> = []
    for entry in entries {
      // A file that is listed twice is wanted once.
      guard seen.insert(ExactText(String(entry.url.prefix { $0 != "#" }))).inserted else { continue }
      let place = entry.place.map { "\($0): " } ?? ""
      let url: ParsedURL
      do throws(ParsedURL.Failure) { url = try ParsedURL(entry.url) } catch {
        throw Failure(64, "\(place)'\(entry.url)' isn't a URL: \(error)\(remedy(entry.url))")
      }
      try check(url, "\(place)'\(entry.url)'")
      schemes.insert(url.scheme)
      urls.append(entry.url)
      names.append(name ?? SafeFileName.from(path: url.path))
    }
    return (zip(urls, FetchNames.distinct(names)).map { Target(url: $0, name: $1) }, schemes)
  }

  /// With what each file has to be.
  private static func expecting(_ checks: FetchCheckOptions, _ targets: [Target]) throws -> [Target] {
    var targets = targets
    if let text = checks.sha256.first {
      guard let parsed = ContentDigest(hex: text), parsed.algorithm == .sha256 else {
        throw Failure(64, "--sha256 '\(text)' isn't a SHA-256: 64 hexadecimal digits")
      }
      targets[0].digest = parsed
    }
    guard let path = checks.checksums else { return targets }
    let list = try FetchChecksums(path)
    for index in targets.indices {
      let names = listedNames(targets[index], isOnly: targets.count == 1)
      guard let digest = names.all.lazy.compactMap(list.digest(of:)).first else {
        throw Failure(64, "--checksums \(path): doesn't list '\(Printable.text(names.shown))'")
      }
      targets[index].digest = digest
    }
    return targets
  }

  /// Names under which a list may have a target's digest. Who made it had the file under its server's name, which may
  /// not be safe here; `shown` is that one.
  static func listedNames(_ target: Target, isOnly: Bool) -> (all: [String], shown: String) {
    guard let url = try? ParsedURL(target.url) else { return ([target.name], target.name) }
    let safe = SafeFileName.from(path: url.path)
    let isNamedByURL = target.name.isExactly(safe)
    // With a number it is told apart from another URL's file, and what the list says of that name is of that file.
    guard isOnly || isNamedByURL else { return ([target.name], target.name) }
    let served = SafeFileName.unchanged(path: url.path) ?? safe
    // What sha256sum(1) read from standard input has no name.
    return ((isNamedByURL ? [] : [target.name]) + [served, safe] + (isOnly ? ["-"] : []), served)
  }

  /// No rule will ever let another scheme pass, so it isn't begun with.
  private static func check(_ url: ParsedURL, _ what: String) throws {
    guard !["https", "http"].contains(url.scheme) else { return }
    throw Failure(
      64, "\(what) is to be asked by \(Printable.text(url.scheme, limit: 40)), and only https is; use https")
  }

  /// Makes the directory, and those above it, where there are none. After it the path is the one that it has without `..`:
  /// files are known by it.
  mutating func makeDirectory() throws {
    if Files.exists(directory) { return }
    if let target = try? FileManager.default.destinationOfSymbolicLink(atPath: directory) {
      throw Failure(
        73, "\(option): is a link to \(Printable.text(target)), which isn't there; make that, or name another")
    }
    do throws(SystemCallError) {
      try Files.makeDirectories(directory, mode: isForOutput ? 0o700 : 0o777)
    } catch {
      throw Failure(
        73,
        isForOutput
          ? "the state folder can't be made: \(error); name another with --state"
          : "\(option) can't be made: \(error); name another directory")
    }
    directory = try FetchPath.absolute(directory, option)
  }

  /// What people write who are used to more patient programs.
  private static func remedy(_ text: String) -> String {
    if text.contains(where: \.isWhitespace) { return "; write blanks as %20" }
    return text.contains("://") ? "" : "; write https:// before the host"
  }

  /// What people call it.
  func label(_ target: Target) -> String { isForOutput ? SafeFileName.from(url: target.url) : target.name }

  func path(_ target: Target) -> String { "\(directory)/\(target.name)" }

  func specification(_ target: Target) -> DownloadSpecification {
    DownloadSpecification(
      app: Self.app, identifier: path(target), url: target.url, headers: headers, transferClass: transferClass,
      digest: target.digest, chunks: chunks, mirrors: mirrors, directory: directory, fileName: target.name)
  }

  /// Why a target isn't even added. The journal would refuse with one all that are added with it.
  func rejection(of target: Target) -> TransferFailure? {
    let path = path(target)
    let (maxPath, maxURL) = (DownloadRules.longestIdentifier, DownloadRules.longestURL)
    if target.url.utf8.count > maxURL {
      return TransferFailure(.notAllowed, detail: "its URL has \(target.url.utf8.count) bytes; at most \(maxURL) do")
    }
    // The journal never has it.
    if hasUserInfo(target) {
      return TransferFailure(
        .notAllowed,
        detail:
          "its URL has a user name or a password in it, which every user of this machine can see; give them with --user NAME:PASSWORD"
      )
    }
    guard path.utf8.count > maxPath else { return nil }
    return TransferFailure(.notAllowed, detail: "its path has \(path.utf8.count) bytes; at most \(maxPath) do")
  }

  private func hasUserInfo(_ target: Target) -> Bool {
    target.url.contains("@") && (try? ParsedURL(target.url))?.hasUserInfo == true
  }

  /// A target's URL, without a password.
  func shownURL(_ target: Target) -> String {
    hasUserInfo(target) ? (try? ParsedURL(target.url))?.redacted ?? "" : target.url
  }
}
