internal import Foundation

/// The lines of a list of digests, without what isn't part of the list: comments, empty lines, a byte order mark, and what
/// OpenPGP puts around a text that it signs (RFC 9580, 7).
struct ChecksumLines {
  struct Line {
    /// From 1 on.
    var number: Int
    var text: Data
    /// A zero byte ended it: every other byte stands for itself.
    var isExact = false
  }

  private(set) var lines: [Line] = []

  private enum Place { case list, signatureHead, signedList, signature }

  init(_ data: Data) {
    let data = data.withoutByteOrderMark
    guard !data.contains(0) else {
      let entries = data.split(separator: 0, omittingEmptySubsequences: false).enumerated()
      lines = entries.compactMap { $1.isEmpty ? nil : Line(number: $0 + 1, text: $1, isExact: true) }
      return
    }
    var place = Place.list
    for (index, raw) in data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
      var line = raw.last == UInt8(ascii: "\r") ? raw.dropLast() : raw
      switch place {
      case .list where line.elementsEqual("-----BEGIN PGP SIGNED MESSAGE-----".utf8): place = .signatureHead
      case .signatureHead: if line.isEmpty { place = .signedList }
      case .signedList where line.elementsEqual("-----BEGIN PGP SIGNATURE-----".utf8): place = .signature
      case .signature: if line.elementsEqual("-----END PGP SIGNATURE-----".utf8) { place = .list }
      case .list, .signedList:
        if place == .signedList, line.starts(with: "- ".utf8) { line = line.dropFirst(2) }
        if !line.isEmpty, line.first != UInt8(ascii: "#") { lines.append(Line(number: index + 1, text: line)) }
      }
    }
  }
}
