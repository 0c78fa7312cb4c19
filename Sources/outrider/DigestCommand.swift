internal import ArgumentParser
internal import AssetModel
internal import Basics
internal import Foundation
internal import Glibc
internal import Hashing
internal import LinuxSystem
internal import Sandbox

struct DigestCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "digest",
    abstract: "Prints a file's SHA-256 and its chunk list, for manifests and for fetch --chunks.",
    discussion: """
      With a chunk list a file is verified and repaired in parts, and a foreground download opens several connections.

      EXAMPLE
        outrider digest talk.mp4 > talk.chunks
        outrider fetch https://example.com/talk.mp4 --chunks talk.chunks
      """)

  @Argument(help: ArgumentHelp("The file.", valueName: "file"), completion: .file()) var file: String
  @Option(help: ArgumentHelp("Bytes of a chunk: a power of two from 64KiB to 64MiB.", valueName: "size"))
  var chunkSize = "\(ChunkList.usualChunkSize >> 20)MiB"

  func run() {
    do {
      guard let size = Quantity.bytes(chunkSize), size & (size - 1) == 0, (64 << 10...64 << 20).contains(size) else {
        throw Failure(64, "--chunk-size '\(chunkSize)' isn't a power of two from 64KiB to 64MiB")
      }
      guard Self.isPipe(file) || (try? Files.identity(of: file))?.isRegularFile == true,
        let handle = FileHandle(forReadingAtPath: file)
      else { throw Failure(66, "\(file): \(InputFile.problem(file) ?? "isn't a regular file")") }
      var whole = RunningHash(.sha256)
      var list = ChunkListFile(chunkSize: Int64(size), size: 0, sha256: "", chunks: [])
      while let data = try Self.chunk(of: handle, size) {
        data.withUnsafeBytes { whole.update($0) }
        list.size += Int64(data.count)
        list.chunks.append(Self.hex(RunningHash.digest(.sha256, of: data)))
      }
      list.sha256 = Self.hex(whole.digest)
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
      Output.line(String(decoding: try encoder.encode(list), as: UTF8.self))
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }

  private static func isPipe(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
  }

  /// The next chunk, which only the last may fall short of: a pipe gives what is in it. nil: the end.
  private static func chunk(of handle: FileHandle, _ size: Int) throws -> Data? {
    var chunk = Data()
    while chunk.count < size, let data = try handle.read(upToCount: size - chunk.count), !data.isEmpty {
      chunk.append(data)
    }
    return chunk.isEmpty ? nil : chunk
  }

  private static func hex(_ digest: [UInt8]) -> String { ContentDigest(.sha256, bytes: digest)?.hex ?? "" }
}

/// What `digest` prints and `fetch --chunks` reads.
struct ChunkListFile: Codable {
  var chunkSize: Int64
  var size: Int64
  var sha256: String
  var chunks: [String]

  static let maxBytes = 64 << 20

  /// `sha256`: what the file has to be as a whole, where that was said.
  static func read(_ path: String, of sha256: String? = nil) throws -> ChunkList {
    guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
      let bytes = attributes[.size] as? Int,
      attributes[.type] as? FileAttributeType == .typeRegular, bytes <= maxBytes,
      let data = FileManager.default.contents(atPath: path)
    else { throw Failure(66, "--chunks \(path): isn't a readable file of at most 64 MiB") }
    let decoded = try? JSONDecoder().decode(ChunkListFile.self, from: data)
    if let decoded, decoded.size == 0, decoded.chunks.isEmpty {
      throw Failure(64, "--chunks \(path): is of an empty file, which has no chunks; leave --chunks out")
    }
    guard let file = decoded,
      case let digests = file.chunks.compactMap({ ContentDigest(hex: $0) }), digests.count == file.chunks.count,
      digests.allSatisfy({ $0.algorithm == .sha256 }),
      let list = ChunkList(chunkSize: file.chunkSize, totalSize: file.size, digests: digests.flatMap(\.bytes))
    else { throw Failure(64, "--chunks \(path): isn't what `outrider digest` prints") }
    guard file.sha256.isEmpty || ContentDigest(hex: file.sha256)?.algorithm == .sha256 else {
      throw Failure(
        64, "--chunks \(path): its 'sha256', \(Printable.text(file.sha256, limit: 70)), isn't 64 hexadecimal digits")
    }
    if let sha256, !file.sha256.isEmpty, sha256.lowercased() != file.sha256.lowercased() {
      throw Failure(
        64,
        "--chunks \(path): is the list of another file than --sha256 names: of \(Printable.text(file.sha256, limit: 70))"
      )
    }
    return list
  }
}
