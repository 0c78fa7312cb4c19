import Foundation
import Glibc
import PluginHost
import TestSupport
import Testing

@Suite(.ownThreads, .timeLimit(.minutes(3))) struct DeviceTests {
  /// A lock of the whole file, which is refused where another process has one.
  private static func locks(_ path: String) -> Bool {
    let file = open(path, O_RDWR | O_CLOEXEC)
    guard file >= 0 else { return false }
    defer { close(file) }
    var lock = flock()
    lock.l_type = Int16(F_WRLCK)
    return fcntl(file, ofdSetLock, &lock) == 0
  }

  /// F_OFD_SETLK (fcntl(2)), which Swift doesn't see.
  private static let ofdSetLock: Int32 = 37

  @Test("a plugin's lock on a device keeps no other process from one", .asRoot)
  func locksStayInside() async throws {
    let folder = try LibraryTests.folder()
    try LibraryTests.compile(
      """
      #include <fcntl.h>
      static const char *names[] = {"/dev/null", "/dev/full", "/dev/random", "/dev/urandom"};
      static int files[4];
      int lock(void) {
        int locked = 0;
        for (int index = 0; index < 4; index++) {
          struct flock all = {.l_type = F_WRLCK};
          files[index] = open(names[index], O_RDWR);
          locked += files[index] >= 0 && fcntl(files[index], F_SETLK, &all) == 0;
        }
        return locked;
      }
      """, "-O1 -o locks.so", in: folder)
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await host.load(folder + "/locks.so")
    #expect(try await plugin.call("lock", "i32()").value == .signed(4))
    for name in ["null", "full", "random", "urandom"] { #expect(Self.locks("/dev/" + name), "\(name)") }
    #expect(await plugin.end().outcome.kind == .returned)
  }

  @Test("every device that a plugin has works as the machine's does") func devicesWork() async throws {
    let folder = try LibraryTests.folder()
    try LibraryTests.compile(
      """
      #include <errno.h>
      #include <fcntl.h>
      #include <unistd.h>
      int works(void) {
        unsigned char bytes[8] = {1, 0}, others[8] = {0};
        int null = open("/dev/null", O_RDWR), full = open("/dev/full", O_RDWR), random = open("/dev/urandom", O_RDONLY);
        if (read(null, bytes, 8) != 0 || write(null, bytes, 8) != 8) return 1;
        if (write(full, bytes, 8) != -1 || errno != ENOSPC || read(full, bytes, 8) != 8 || bytes[0] != 0) return 2;
        if (read(random, bytes, 8) != 8 || read(random, others, 8) != 8) return 3;
        if (*(unsigned long *)bytes == *(unsigned long *)others) return 4;
        int devices[] = {null, full};
        for (int index = 0; index < 2; index++)
          if (isatty(devices[index]) || errno != ENOTTY) return 5;
        return open("/dev/zero", O_RDONLY) >= 0 || open("/dev/tty", O_RDONLY) >= 0 || open("/dev/null/..", O_RDONLY) >= 0;
      }
      """, "-O1 -o works.so", in: folder)
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await host.load(folder + "/works.so")
    #expect(try await plugin.call("works", "i32()").value == .signed(0))
    #expect(await plugin.end().outcome.kind == .returned)
  }
}
