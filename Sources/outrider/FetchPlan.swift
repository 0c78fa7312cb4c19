internal import AssetModel
internal import Downloads
internal import Foundation

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
  let directory: String
  private let transferClass: TransferClass
  private var digest: ContentDigest?
  private let chunks: ChunkList?
  let mirrors: [String]

  init(_ command: FetchCommand) throws {
    directory = try FetchPath.absolute(command.to, "--to \(command.to)")
    transferClass = command.foreground ? .foreground : .visible
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: directory, isDirectory: &isDirectory), isDirectory.boolValue else {
      throw Failure(66, "--to \(command.to): there is no such directory")
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
        do throws(ParsedURL.Failure) { return try ParsedURL(mirror).scheme } catch {
          throw Failure(64, "--mirror '\(mirror)' isn't a URL: \(error)\(Self.remedy(mirror))")
        }
      })
  }

  /// A string by its bytes: to a server and to a directory two spellings of the same character are two things.
  private struct Spelling: Hashable {
    let text: String

    static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    func hash(into hasher: inout Hasher) {
      var text = text
      text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
  }

  private static func targets(
    _ entries: [FetchList.Entry], output: String?
  ) throws -> (targets: [Target], schemes: Set<String>) {
    var names: [Spelling: String] = [:]
    var schemes: Set<String> = []
    let targets: [Target] = try entries.compactMap { entry in
      let place = entry.place.map { "\($0): " } ?? ""
      let url: ParsedURL
      do throws(ParsedURL.Failure) { url = try ParsedURL(entry.url) } catch {
        throw Failure(64, "\(place)'\(entry.url)' isn't a URL: \(error)\(remedy(entry.url))")
      }
      schemes.insert(url.scheme)
      let name = output ?? SafeFileName.from(path: url.path)
      if let other = names.updateValue(entry.url, forKey: Spelling(text: name)) {
        // Whoever lists a file twice wants it once.
        if other.utf8.elementsEqual(entry.url.utf8) { return nil }
        throw Failure(
          64, "\(place)\(other) and \(entry.url) would both be written to \(name); fetch them to two directories")
      }
      return Target(url: entry.url, name: name)
    }
    return (targets, schemes)
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
