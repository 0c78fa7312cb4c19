internal import CSeccomp

/// Which architecture's table a system call went by: its number means nothing without it (seccomp(2), `arch`).
package enum CallArchitecture {
  /// This machine's own, as the filter sees it.
  package static let native: UInt32 = seccomp_arch_native()

  /// The name of the architecture of a call that isn't a native one; nil for a native call. x32 counts as another, though the
  /// kernel gives it the native one's value.
  package static func foreignName(_ architecture: UInt32, number: Int32) -> String? {
    guard architecture == native else {
      switch architecture {
      case 0x4000_0003: return "i386"
      case 0x4000_0028: return "32-bit Arm"
      default: return "0x\(String(architecture, radix: 16))"
      }
    }
    #if arch(x86_64)
      // -1 is a call that a tracer skips.
      if UInt32(bitPattern: number) >= 0x4000_0000, number != -1 { return "x32" }
    #endif
    return nil
  }
}
