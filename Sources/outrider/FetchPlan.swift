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
  let directory: String
  private let transferClass: TransferClass
  private var digest: ContentDigest?
  private let chunks: ChunkList?

  init(_ command: FetchCommand) throws {
    directory = URL(fileURLWithPath: command.to).standardizedFileURL.path
    transferClass = command.foreground ? .foreground : .visible
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: directory, isDirectory: &isDirectory), isDirectory.boolValue else {
      throw Failure(66, "--to \(command.to): there is no such directory")
    }
    if let text = command.sha256 {
      guard let parsed = ContentDigest(hex: text), parsed.algorithm == .sha256 else {
        throw Failure(64, "--sha256 '\(text)' isn't a SHA-256: 64 hexadecimal digits")
      }
      digest = parsed
    }
    chunks = try command.chunks.map(ChunkListFile.read)
    targets = try Self.targets(try command.allURLs(), list: command.from ?? "")
  }

  private static func targets(_ entries: [FetchList.Entry], list: String) throws -> [Target] {
    var names: [String: String] = [:]
    return try entries.compactMap { entry in
      let place = entry.line.map { "--from \(list), line \($0): " } ?? ""
      let url: ParsedURL
      do throws(ParsedURL.Failure) { url = try ParsedURL(entry.url) } catch {
        throw Failure(64, "\(place)'\(entry.url)' isn't a URL: \(error)")
      }
      let name = SafeFileName.from(url: url)
      if let other = names.updateValue(entry.url, forKey: name) {
        // Whoever lists a file twice wants it once.
        if other == entry.url { return nil }
        throw Failure(
          64, "\(place)\(other) and \(entry.url) would both be written to \(name); fetch them to two directories")
      }
      return Target(url: entry.url, name: name)
    }
  }

  func path(_ target: Target) -> String { "\(directory)/\(target.name)" }

  func specification(_ target: Target) -> DownloadSpecification {
    DownloadSpecification(
      app: Self.app, identifier: path(target), url: target.url, transferClass: transferClass, digest: digest,
      chunks: chunks, directory: directory, fileName: target.name)
  }
}
