import Testing

@testable import AssetService

@Suite(.timeLimit(.minutes(2))) struct AssetServiceTests {}
