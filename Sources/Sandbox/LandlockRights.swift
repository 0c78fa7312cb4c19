/// Landlock's access rights (landlock(7)) and which of them a kernel's ABI knows.
package struct LandlockRights: Sendable, Equatable {
  package static let execute: UInt64 = 1 << 0
  package static let writeFile: UInt64 = 1 << 1
  package static let readFile: UInt64 = 1 << 2
  package static let readDirectory: UInt64 = 1 << 3
  package static let truncate: UInt64 = 1 << 14

  /// Of the rights over TCP: bind(2).
  package static let bindPort: UInt64 = 1 << 0

  /// Bits of ABI 1: execute, write, read, readdir, remove dir and file, make char, dir, regular, socket, fifo, block, symlink.
  private static let first: UInt64 = (1 << 13) - 1
  private static let refer: UInt64 = 1 << 13
  private static let deviceControl: UInt64 = 1 << 15
  /// Make char, socket, fifo and block: never granted.
  private static let specialFiles: UInt64 = 1 << 6 | 1 << 9 | 1 << 10 | 1 << 11

  /// The first ABI that keeps signals and abstract sockets inside.
  package static let firstWithScopes = 6
  /// The first that guards the length of files (LANDLOCK_ACCESS_FS_TRUNCATE).
  package static let firstWithTruncation = 3

  package let filesystem: UInt64
  package let network: UInt64
  package let scoped: UInt64

  /// Everything that an ABI can refuse, 1 (Linux 5.13) to 7 (6.15); a newer kernel is used as 7.
  package init(abi: Int) {
    var filesystem = Self.first
    if abi >= 2 { filesystem |= Self.refer }
    if abi >= 3 { filesystem |= Self.truncate }
    if abi >= 5 { filesystem |= Self.deviceControl }
    self.filesystem = filesystem
    network = abi >= 4 ? 0b11 : 0
    scoped = abi >= Self.firstWithScopes ? 0b11 : 0
  }

  /// Rights on a directory that may be read and loaded from.
  package var readable: UInt64 { filesystem & (Self.readFile | Self.readDirectory | Self.execute) }
  /// Rights on a directory that may be written: everything but executing and special files.
  package var writable: UInt64 { filesystem & ~(Self.execute | Self.specialFiles | Self.deviceControl) }
  /// Rights on the devices that every plugin has. Which commands of ioctl(2) there are is the filter's to say; of those each device
  /// answers as it does without Landlock (ENOTTY), and isatty(3) with it.
  package var device: UInt64 { filesystem & (Self.readFile | Self.writeFile | Self.deviceControl) }
  /// The subset that applies to something that isn't a directory.
  package func forFile(_ rights: UInt64) -> UInt64 {
    rights & (Self.execute | Self.writeFile | Self.readFile | Self.truncate | Self.deviceControl)
  }
}
