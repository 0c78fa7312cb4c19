internal import Foundation
internal import LinuxSystem

/// URLs as people and programs list them: one a line, with blank lines and comments between them.
enum FetchList {
  struct Entry: Sendable, Equatable {
    var url: String
    /// nil: it stands in the command itself.
    var list: String?
    var line: Int?

    /// For messages.
    var place: String? { list.flatMap { list in line.map { "--from \(list), line \($0)" } } }
  }

  static func read(_ path: String) throws -> [Entry] {
    if path != "-", let identity = try? Files.identity(of: path), identity.isDirectory {
      throw Failure(66, "--from \(path): is a directory; name a file with one URL a line")
    }
    guard let file = path == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: path) else {
      throw Failure(66, "--from \(path): \(InputFile.problem(path) ?? "can't be read")")
    }
    let data: Data
    do { data = try file.read(upToCount: longest + 1) ?? Data() } catch {
      throw Failure(66, "--from \(path): can't be read")
    }
    guard data.count <= longest else { throw Failure(64, "--from \(path): has more than \(longest >> 20) MiB") }
    let entries = try entries(in: data, of: path)
    if entries.isEmpty { throw Failure(66, "--from \(path): names no URL") }
    return entries
  }

  private static let longest = 64 << 20

  /// Line by line as bytes: a million of them are quick that way, and whatever editors leave around a URL is no part of
  /// it.
  static func entries(in data: Data, of list: String) throws -> [Entry] {
    let lines = data.withoutByteOrderMark.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    return try lines.enumerated().compactMap { index, line in
      if line.contains(0) {
        throw Failure(64, "--from \(list), line \(index + 1): has a NUL byte in it; write URLs as text, one a line")
      }
      var text = line.drop(while: isBlank)
      while let last = text.last, isBlank(last) { text.removeLast() }
      guard let first = text.first, first != UInt8(ascii: "#") else { return nil }
      guard let url = String(validating: text, as: UTF8.self) else {
        throw Failure(
          64, "--from \(list), line \(index + 1): has bytes that aren't UTF-8; \(remedy)")
      }
      return Entry(url: url, list: list, line: index + 1)
    }
  }

  private static let remedy = "write them as the server does, with percent signs (%E9)"

  private static func isBlank(_ byte: UInt8) -> Bool { byte <= 0x20 }
}

extension Data {
  /// What some editors put before a text in UTF-8.
  var withoutByteOrderMark: Data { starts(with: [0xef, 0xbb, 0xbf]) ? dropFirst(3) : self }
}
