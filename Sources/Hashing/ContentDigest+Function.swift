package import AssetModel

extension ContentDigest.Algorithm {
  package var function: RunningHash.Function {
    switch self {
    case .sha256: .sha256
    case .sha512: .sha512
    }
  }
}
