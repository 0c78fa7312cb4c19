import Testing

@testable import AssetService

@Suite struct AssetServiceTests {}
