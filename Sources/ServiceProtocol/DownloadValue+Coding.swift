internal import Foundation

/// As one string, its fields separated by `|`: there are lists of thousands, and naming each member of each of them took
/// most of their time. Fields may be added at the end, which older readers leave out.
extension DownloadValue: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let value = Self(fields: FieldText.split(try container.decode(String.self))) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "it isn't a download")
    }
    self = value
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(FieldText.join(fields))
  }

  private static let essentialFlag = 1
  private static let manifestFlag = 2
  private static let bodyFlag = 4
  private static let allFlags = 7

  var fields: [String] {
    var flags = 0
    if isEssential { flags |= Self.essentialFlag }
    if isManifest { flags |= Self.manifestFlag }
    if httpBody != nil { flags |= Self.bodyFlag }
    var fields = [
      identifier, uniqueIdentifier, url, applicationGroupIdentifier, fileSize.map(String.init) ?? "", String(priority),
      String(state), String(flags), httpMethod, httpBody?.base64EncodedString() ?? "",
    ]
    fields.append(String(httpHeaders.count))
    for (name, value) in httpHeaders.sorted(by: { $0.key < $1.key }) { fields += [name, value] }
    return fields
  }

  init?(fields: [String]) {
    guard fields.count >= 11, fields[4].isEmpty || Int64(fields[4]) != nil, let priority = Int(fields[5]),
      let state = Int(fields[6]), let flags = Int(fields[7]), flags & ~Self.allFlags == 0,
      let count = Int(fields[10]), count >= 0, count <= (fields.count - 11) / 2
    else { return nil }
    var body: Data?
    if flags & Self.bodyFlag != 0 {
      guard let data = Data(base64Encoded: fields[9]) else { return nil }
      body = data
    }
    var headers: [String: String] = [:]
    for index in 0..<count { headers[fields[11 + 2 * index]] = fields[12 + 2 * index] }
    self.init(
      identifier: fields[0], uniqueIdentifier: fields[1], url: fields[2], httpMethod: fields[8], httpHeaders: headers,
      httpBody: body, applicationGroupIdentifier: fields[3], fileSize: Int64(fields[4]),
      isEssential: flags & Self.essentialFlag != 0, priority: priority, isManifest: flags & Self.manifestFlag != 0,
      state: state)
  }
}

/// Fields in a string. Within one, `|` is `\p` and `\` is `\b`.
enum FieldText {
  private static let separator = UInt8(ascii: "|")
  private static let escape = UInt8(ascii: "\\")

  static func join(_ fields: [String]) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(fields.reduce(fields.count) { $0 + $1.utf8.count })
    for (index, field) in fields.enumerated() {
      if index > 0 { bytes.append(separator) }
      for byte in field.utf8 {
        switch byte {
        case separator: bytes += [escape, UInt8(ascii: "p")]
        case escape: bytes += [escape, UInt8(ascii: "b")]
        default: bytes.append(byte)
        }
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Any other character behind a `\` stands for itself.
  static func split(_ text: String) -> [String] {
    var text = text
    return text.withUTF8 { bytes in
      var fields: [String] = []
      forEach(in: bytes) { fields.append(String(decoding: $0, as: UTF8.self)) }
      return fields
    }
  }

  /// nil where the bytes aren't UTF-8.
  static func validFields(_ text: [UInt8]) -> [String]? {
    var fields: [String] = []
    fields.reserveCapacity(11)
    var isValid = true
    // Validating costs more than all else, and what is ASCII is valid.
    let isASCII = text.allSatisfy { $0 < 0x80 }
    text.withUnsafeBufferPointer { bytes in
      forEach(in: bytes) { field in
        if isASCII {
          fields.append(String(decoding: field, as: UTF8.self))
        } else if let field = String(validating: field, as: UTF8.self) {
          fields.append(field)
        } else {
          isValid = false
        }
      }
    }
    return isValid ? fields : nil
  }

  @inline(__always)
  private static func forEach(in bytes: UnsafeBufferPointer<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) -> Void) {
    var start = 0
    var isEscaped = false
    for index in 0...bytes.count {
      if index < bytes.count, bytes[index] != separator {
        isEscaped = isEscaped || bytes[index] == escape
        continue
      }
      let field = UnsafeBufferPointer(rebasing: bytes[start..<index])
      if isEscaped { unescaped(field).withUnsafeBufferPointer(body) } else { body(field) }
      start = index + 1
      isEscaped = false
    }
  }

  private static func unescaped(_ field: UnsafeBufferPointer<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    var isEscaped = false
    for byte in field {
      if !isEscaped, byte == escape {
        isEscaped = true
        continue
      }
      let meant =
        switch byte {
        case UInt8(ascii: "p") where isEscaped: separator
        case UInt8(ascii: "b") where isEscaped: escape
        default: byte
        }
      bytes.append(meant)
      isEscaped = false
    }
    return bytes
  }
}
