internal import AssetModel

extension ByteWriter {
  mutating func challenge(_ value: ChallengeDescription) {
    string(value.host)
    integer(value.port)
    string(value.protocolName)
    string(value.realm)
    string(value.authenticationMethod)
    integer(value.previousFailureCount)
  }

  mutating func decision(_ value: ChallengeDecision) {
    integer(UInt8(value.disposition.rawValue))
    optional(value.credential) { writer, credential in
      writer.string(credential.user)
      writer.string(credential.password)
    }
  }
}

extension ByteReader {
  mutating func challenge() throws(ProtocolViolation) -> ChallengeDescription {
    ChallengeDescription(
      host: try string(), port: try integer(), protocolName: try string(), realm: try string(),
      authenticationMethod: try string(), previousFailureCount: try integer())
  }

  /// What it refuses is never quoted: a violation ends in a report.
  mutating func decision() throws(ProtocolViolation) -> ChallengeDecision {
    let raw: UInt8 = try integer()
    guard let disposition = ChallengeDecision.Disposition(rawValue: Int32(raw)) else { throw .unknownCase(raw) }
    let credential = try optional { (reader) throws(ProtocolViolation) in
      let (user, password) = (try reader.string(), try reader.string())
      guard let credential = ChallengeDecision.Credential(user: user, password: password) else {
        throw .unexpected("a credential beyond its bounds")
      }
      return credential
    }
    guard credential == nil || disposition == .useCredential else {
      throw .unexpected("a credential that isn't to be used")
    }
    return ChallengeDecision(disposition, credential)
  }
}
