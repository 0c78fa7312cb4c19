/// RFC 7616, for `qop=auth`, and without it for old servers.
struct DigestAuthentication: Sendable {
  private let algorithm: DigestAlgorithm
  private let namesAlgorithm: Bool
  private let realm: String
  private let nonce: String
  private let opaque: String?
  private let hasQuality: Bool
  /// Requests made with this nonce.
  private var count = 0
  /// The client nonce that a session's key was made with.
  private var sessionNonce: String?

  /// nil for what can't be answered.
  init?(_ challenge: Challenge) {
    let parameters = challenge.parameters
    guard let algorithm = DigestAlgorithm(parameters["algorithm"]), let realm = parameters["realm"],
      let nonce = parameters["nonce"], !nonce.isEmpty
    else { return nil }
    let qualities = parameters["qop"].map { list in
      list.utf8.split(separator: UInt8(ascii: ",")).map {
        HeaderToken.lowercased($0.filter { !HeaderToken.isBlank($0) })
      }
    }
    // The body's integrity (auth-int) can't be promised for a request that is repeated in pieces.
    if let qualities, !qualities.contains("auth") { return nil }
    // Without a quality there is no field for the client's nonce, which a session needs.
    if qualities == nil, algorithm.isSession { return nil }
    self.algorithm = algorithm
    namesAlgorithm = parameters["algorithm"] != nil
    self.realm = realm
    self.nonce = nonce
    opaque = parameters["opaque"]
    hasQuality = qualities != nil
  }

  /// The value of the field. A user name outside ASCII goes the way of RFC 8187; `userhash` isn't used, as it may be.
  mutating func header(user: String, password: String, method: String, target: String, cnonce: String) -> String {
    count += 1
    // A session's key belongs to its first client nonce. Servers that work it out anew take the one that comes with the
    // request; keeping the first suits both.
    let cnonce = algorithm.isSession ? sessionNonce ?? cnonce : cnonce
    sessionNonce = cnonce
    let hexadecimal = String(count, radix: 16)
    let number = String(repeating: "0", count: max(0, 8 - hexadecimal.count)) + hexadecimal
    var first = algorithm.hex("\(user):\(realm):\(password)")
    if algorithm.isSession { first = algorithm.hex("\(first):\(nonce):\(cnonce)") }
    let second = algorithm.hex("\(method):\(target)")
    let between = hasQuality ? "\(number):\(cnonce):auth:" : ""
    let response = algorithm.hex("\(first):\(nonce):\(between)\(second)")
    let isPlain = user.utf8.allSatisfy { $0 < 0x80 }
    var fields = [
      isPlain ? "username=\(Self.quoted(user))" : "username*=UTF-8''\(Self.percentEncoded(user))",
      "realm=\(Self.quoted(realm))", "nonce=\(Self.quoted(nonce))", "uri=\(Self.quoted(target))",
      "response=\"\(response)\"",
    ]
    if namesAlgorithm { fields.append("algorithm=\(algorithm.name)") }
    if let opaque { fields.append("opaque=\(Self.quoted(opaque))") }
    if hasQuality { fields += ["qop=auth", "nc=\(number)", "cnonce=\(Self.quoted(cnonce))"] }
    return "Digest " + fields.joined(separator: ", ")
  }

  /// A quoted string (RFC 9110, 5.6.4). Control characters have no way to be written in it, and are left out.
  private static func quoted(_ text: String) -> String {
    var bytes = [UInt8(ascii: "\"")]
    for byte in text.utf8 where !HeaderToken.isControl(byte) {
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
      bytes.append(byte)
    }
    return String(decoding: bytes + [UInt8(ascii: "\"")], as: UTF8.self)
  }

  /// RFC 8187, 3.2.1.
  private static func percentEncoded(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    let bytes = text.utf8.flatMap { byte in
      HeaderToken.contains(byte) && !"*'%".utf8.contains(byte)
        ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
