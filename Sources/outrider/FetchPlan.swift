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
  private let directory: String
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
    targets = try Self.targets(try command.allURLs())
  }

  private static func targets(_ urls: [String]) throws -> [Target] {
    var names: [String: String] = [:]
    return try urls.map { text in
      let url: ParsedURL
      do throws(ParsedURL.Failure) { url = try ParsedURL(text) } catch {
        throw Failure(64, "'\(text)' isn't a URL: \(error)")
      }
      let name = SafeFileName.from(url: url)
      if let other = names.updateValue(text, forKey: name) {
        throw Failure(64, "\(other) and \(text) would both be written to \(name); fetch them to two directories")
      }
      return Target(url: text, name: name)
    }
  }

  func path(_ target: Target) -> String { "\(directory)/\(target.name)" }

  func specification(_ target: Target) -> DownloadSpecification {
    DownloadSpecification(
      app: Self.app, identifier: path(target), url: target.url, transferClass: transferClass, digest: digest,
      chunks: chunks, directory: directory, fileName: target.name)
  }
}
