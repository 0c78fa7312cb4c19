import Basics
import Testing

@testable import AssetService

/// Who may connect when many do.
@Suite(.timeLimit(.minutes(2))) struct ConnectionAdmissionTests {
  /// Whether the process was taken.
  private func admit(_ process: Int32, _ admission: inout ConnectionAdmission) -> Bool {
    do throws(ConnectionAdmission.Refusal) {
      try admission.admit(process)
      return true
    } catch {
      return false
    }
  }

  @Test("One process has 256 places at most, and gets one back for each that it leaves")
  func oneProcess() {
    var admission = ConnectionAdmission(openFiles: 1 << 20)
    #expect(admission.max == 4096)
    #expect((0..<300).count { _ in admit(1, &admission) } == ConnectionAdmission.maxOfProcess)
    #expect(admit(2, &admission))
    admission.release(1)
    #expect(admit(1, &admission) && !admit(1, &admission))
  }

  @Test("When three quarters are taken, a process with few connections is still taken, and one with many isn't")
  func scarce() {
    var admission = ConnectionAdmission(openFiles: 1 << 20)
    for process in 1...12 as ClosedRange<Int32> { for _ in 0..<256 { #expect(admit(process, &admission)) } }
    #expect(admission.count == 3072)
    #expect(!admit(1, &admission))
    for process in 100..<356 as Range<Int32> {
      #expect((0..<10).count { _ in admit(process, &admission) } == ConnectionAdmission.maxWhenScarce)
    }
    #expect(admission.count == admission.max && !admit(999, &admission))
    admission.release(100)
    #expect(admit(999, &admission))
  }

  @Test(
    "Half of the descriptors are left for downloads and extensions", arguments: [(1024, 512), (20, 16), (8192, 4096)])
  func descriptors(openFiles: Int, max: Int) {
    #expect(ConnectionAdmission(openFiles: openFiles).max == max)
  }

  @Test(
    "However connections come and go, the counts are those of who is there", arguments: 1...4 as ClosedRange<UInt64>)
  func random(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var admission = ConnectionAdmission(openFiles: 200)
    var there: [Int32] = []
    for _ in 0..<10_000 {
      if Bool.random(using: &random) {
        let process = Int32.random(in: 1...9, using: &random)
        if admit(process, &admission) { there.append(process) }
      } else if let index = there.indices.randomElement(using: &random) {
        admission.release(there.remove(at: index))
      }
      #expect(admission.count == there.count && there.count <= admission.max)
    }
    #expect(admission.counts == Dictionary(there.map { ($0, 1) }, uniquingKeysWith: +))
    admission.release(77)
    #expect(admission.count == there.count)
  }
}
