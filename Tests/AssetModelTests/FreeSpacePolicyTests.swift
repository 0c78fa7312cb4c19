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
    #expect(FreeSpacePolicy(minimum: 1 << 20, percent: 3, maximum: 512 << 20).floor(total: total) == floor)
  }

  @Test func withoutABoundItGrowsWithTheVolume() {
    #expect(FreeSpacePolicy().floor(total: 1 << 40) == 32_985_348_833)
    #expect(FreeSpacePolicy().floor(total: 1 << 30) == 512 << 20)
  }

  @Test(
    "what was allocated already isn't needed once more",
    arguments: [
      (100, 0, 0, 100), (100, 30, 0, 70), (100, 30, 60, 40), (100, 60, 30, 40), (100, 30, 100, 0), (100, 0, 4096, 0),
      (0, 0, 0, 0), (Int64.max, -1, 0, Int64.max),
    ] as [(Int64, Int64, Int64, Int64)])
  func need(total: Int64, arrived: Int64, allocated: Int64, need: Int64) {
    #expect(FreeSpacePolicy.need(total: total, arrived: arrived, allocated: allocated) == need)
  }
}
