import Sandbox
import Testing

@Suite(.timeLimit(.minutes(1))) struct LandlockRightsTests {
  @Test(
    arguments: [
      (1, 0x1fff, 0, 0), (2, 0x3fff, 0, 0), (3, 0x7fff, 0, 0), (4, 0x7fff, 3, 0), (5, 0xffff, 3, 0), (6, 0xffff, 3, 3),
      (7, 0xffff, 3, 3), (99, 0xffff, 3, 3),
    ] as [(Int, UInt64, UInt64, UInt64)])
  func knowsEachABI(_ abi: Int, _ filesystem: UInt64, _ network: UInt64, _ scoped: UInt64) {
    let rights = LandlockRights(abi: abi)
    #expect(rights.filesystem == filesystem)
    #expect(rights.network == network)
    #expect(rights.scoped == scoped)
  }

  @Test(arguments: 1...8) func grantsNoMoreThanTheKernelKnows(_ abi: Int) {
    let rights = LandlockRights(abi: abi)
    for granted in [
      rights.readable, rights.writable, rights.forFile(rights.readable), rights.forFile(rights.writable), rights.device,
    ] {
      #expect(granted & ~rights.filesystem == 0)
      #expect(granted != 0)
    }
    #expect(rights.writable & LandlockRights.execute == 0)
    #expect(rights.readable & LandlockRights.writeFile == 0)
    // Make char, socket, fifo, block.
    #expect(rights.writable & 0xe40 == 0)
    #expect(rights.forFile(.max) & LandlockRights.readDirectory == 0)
  }
}
