import Basics
import Foundation
import Hashing
import Testing

@Suite(.timeLimit(.minutes(1))) struct RunningHashTests {
  /// Of "abc": RFC 1321, A.5; FIPS 180-4 with NIST's examples of its functions.
  private static let known: [(RunningHash.Function, String)] = [
    (.md5, "900150983cd24fb0d6963f7d28e17f72"),
    (.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      .sha512,
      "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd"
        + "454d4423643ce80e2a9ac94fa54ca49f"
    ),
    (.sha512256, "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
  ]

  @Test(arguments: known) func theStandardsExamples(function: RunningHash.Function, hex: String) {
    #expect(Hexadecimal.text(RunningHash.digest(function, of: Array("abc".utf8))) == hex)
    #expect(
      Hexadecimal.text(
        RunningHash.digest(
          function,
          of: sequence(state: 0x60) {
            $0 < 0x63
              ? {
                $0 += 1
                return UInt8($0)
              }(&$0) : nil
          })) == hex)
  }

  @Test(arguments: RunningHash.Function.allCases) func piecesMakeTheSameAsTheWhole(function: RunningHash.Function) {
    let bytes = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    for size in [1, 63, 64, 65, 127, 128, 4096, 10_000] {
      var hash = RunningHash(function)
      for start in stride(from: 0, to: bytes.count, by: size) {
        bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { hash.update($0) }
      }
      #expect(hash.digest == RunningHash.digest(function, of: bytes), "pieces of \(size)")
    }
  }

  @Test func aCopyGoesOnByItselfAndADigestEndsNothing() {
    var first = RunningHash(.sha256)
    Array("a".utf8).withUnsafeBytes { first.update($0) }
    var second = first
    Array("bc".utf8).withUnsafeBytes { second.update($0) }
    #expect(first.digest == RunningHash.digest(.sha256, of: Array("a".utf8)))
    Array("bc".utf8).withUnsafeBytes { first.update($0) }
    #expect(first.digest == second.digest)
    #expect(first.digest == RunningHash.digest(.sha256, of: Array("abc".utf8)))
  }

  @Test func nothingHasAHashToo() {
    var hash = RunningHash(.sha256)
    hash.update(UnsafeRawBufferPointer(start: nil, count: 0))
    #expect(hash.digest.prefix(4) == [0xe3, 0xb0, 0xc4, 0x42])
  }

  @Test("a program may exit while its threads hash") func exits() async {
    for _ in 0..<3 {
      await #expect(processExitsWith: .exitCode(7)) {
        let begun = DispatchSemaphore(value: 0)
        for _ in 0..<4 {
          Thread.detachNewThread {
            _ = RunningHash.digest(.sha256, of: [1])
            begun.signal()
            while true { _ = RunningHash.digest(.sha256, of: [1]) }
          }
        }
        for _ in 0..<4 { begun.wait() }
        exit(7)
      }
    }
  }
}
