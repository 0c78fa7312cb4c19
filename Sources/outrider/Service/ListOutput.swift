internal import Foundation

extension Output {
  /// One object of a stream, on one line.
  static func jsonLine(_ value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    line(JSONText.escaped(String(decoding: try encoder.encode(value), as: UTF8.self)))
  }
}
