import AssetModel
import Testing

@Suite(.timeLimit(.minutes(1))) struct FreeSpacePolicyTests {
  /// As `outrider fetch` has it: three hundredths of the volume, but between one and 512 MiB.
  @Test(
    arguments: [
      (0, 1 << 20), (10 << 20, 1 << 20), (1 << 30, 32_212_254), (1 << 34, 515_396_075), (1 << 40, 512 << 20),
      (Int64.max, 512 << 20),
    ] as [(Int64, Int64)])
  func staysBetweenItsBounds(total: Int64, floor: Int64) {
    #expect(FreeSpacePolicy(least: 1 << 20, percent: 3, most: 512 << 20).floor(total: total) == floor)
  }

  @Test func withoutABoundItGrowsWithTheVolume() {
    #expect(FreeSpacePolicy().floor(total: 1 << 40) == 32_985_348_833)
    #expect(FreeSpacePolicy().floor(total: 1 << 30) == 512 << 20)
  }
}
