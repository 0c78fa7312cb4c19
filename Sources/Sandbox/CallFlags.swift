/// Bits of system calls' arguments that both the filter and the host look at.
package enum CallFlags {
  /// Of mmap(2): MAP_SHARED, MAP_ANONYMOUS, and MAP_LOCKED with MAP_HUGETLB.
  package static let shared: UInt64 = 1
  package static let anonymous: UInt64 = 0x20
  package static let lockedOrHuge: UInt64 = 0x42000
  /// Of mmap(2) and mprotect(2): PROT_EXEC, PROT_WRITE.
  package static func isCode(_ protection: UInt64) -> Bool { protection & 4 != 0 }
  package static func isWritable(_ protection: UInt64) -> Bool { protection & 2 != 0 }
  /// Of a file's mode: set-user-id and set-group-id.
  package static let foreignRights: UInt64 = 0o6000
}
