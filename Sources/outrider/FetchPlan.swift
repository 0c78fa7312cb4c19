internal import AssetModel
internal import Downloads
internal import Foundation
internal import LinuxSystem

/// What one `outrider fetch` is asked for. There may be very many: a specification is made when it is needed.
struct FetchPlan: Sendable {
  struct Target: Sendable {
    var url: String
    var name: String
  }

  static let app = "fetch"

  let targets: [Target]
  /// Those of all its URLs.
  let schemes: Set<String>
  private(set) var directory: String
  private let option: String
  private let transferClass: TransferClass
  private var digest: ContentDigest?
  private let chunks: ChunkList?
  let mirrors: [String]

  init(_ command: FetchCommand) throws {
    option = "--to \(command.to)"
    directory = try FetchPath.absolute(command.to, option)
    transferClass = command.foreground ? .foreground : .background
    if let there = try? Files.identity(of: directory), !there.isDirectory {
      throw Failure(66, "\(option): isn't a directory")
    }
    if let text = command.sha256.first {
      guard let parsed = ContentDigest(hex: text), parsed.algorithm == .sha256 else {
        throw Failure(64, "--sha256 '\(text)' isn't a SHA-256: 64 hexadecimal digits")
      }
      digest = parsed
    }
    chunks = try command.chunks.first.map { try ChunkListFile.read($0, of: command.sha256.first) }
    let (targets, schemes) = try Self.targets(try command.allURLs(), output: command.output)
    mirrors = command.mirror
    self.targets = targets
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
    _ entries: [FetchList.Entry], output: String?
  ) throws -> (targets: [Target], schemes: Set<String>) {
    var schemes: Set<String> = []
    var (urls, names): ([String], [String]) = ([], [])
    var seen: Set<FetchNames.Spelling> = []
    for entry in entries {
      // Whoever lists a file twice wants it once.
      guard seen.insert(FetchNames.Spelling(text: entry.url)).inserted else { continue }
      let place = entry.place.map { "\($0): " } ?? ""
      let url: ParsedURL
      do throws(ParsedURL.Failure) { url = try ParsedURL(entry.url) } catch {
        throw Failure(64, "\(place)'\(entry.url)' isn't a URL: \(error)\(remedy(entry.url))")
      }
      try check(url, "\(place)'\(entry.url)'")
      schemes.insert(url.scheme)
      urls.append(entry.url)
      names.append(output ?? SafeFileName.from(path: url.path))
    }
    return (zip(urls, FetchNames.distinct(names)).map { Target(url: $0, name: $1) }, schemes)
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
    do throws(SystemCallError) { try Files.makeDirectories(directory, mode: 0o777) } catch {
      throw Failure(73, "\(option) can't be made: \(error); name another directory")
    }
    directory = try FetchPath.absolute(directory, option)
  }

  /// What people write who are used to more patient programs.
  private static func remedy(_ text: String) -> String {
    if text.contains(where: \.isWhitespace) { return "; write blanks as %20" }
    return text.contains("://") ? "" : "; write https:// before the host"
  }

  func path(_ target: Target) -> String { "\(directory)/\(target.name)" }

  func specification(_ target: Target) -> DownloadSpecification {
    DownloadSpecification(
      app: Self.app, identifier: path(target), url: target.url, transferClass: transferClass, digest: digest,
      chunks: chunks, mirrors: mirrors, directory: directory, fileName: target.name)
  }
}
