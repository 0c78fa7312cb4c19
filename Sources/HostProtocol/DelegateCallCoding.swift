internal import AssetModel

extension ByteWriter {
  mutating func delegateCall(_ call: DelegateCall) {
    let kind: UInt8 =
      switch call {
      case .began: 1
      case .paused: 2
      case .progress: 3
      case .challenge: 4
      case .failed: 5
      case .finished: 6
      }
    integer(kind)
    download(call.download)
    switch call {
    case .began, .paused: break
    case .progress(_, let written, let expected):
      integer(written)
      integer(expected)
    case .challenge(_, let challenge): self.challenge(challenge)
    case .failed(_, let error): self.error(error)
    case .finished(_, let path): string(path)
    }
  }
}

extension ByteReader {
  mutating func delegateCall() throws(ProtocolViolation) -> DelegateCall {
    let kind: UInt8 = try integer()
    let download = try download()
    switch kind {
    case 1: return .began(download)
    case 2: return .paused(download)
    case 3: return .progress(download, totalWritten: try integer(), totalExpected: try integer())
    case 4: return .challenge(download, try challenge())
    case 5: return .failed(download, try error())
    case 6: return .finished(download, path: try string())
    default: throw .unknownCase(kind)
    }
  }
}
