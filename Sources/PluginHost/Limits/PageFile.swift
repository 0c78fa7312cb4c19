internal import CLinux
internal import Glibc
internal import LinuxSystem

/// A regular file whose pages matter, opened for reading.
final class PageFile {
  /// Places of it that are looked at to know whether it is still in the cache.
  static let maxPlaces = 16

  let descriptor: OwnedDescriptor
  let identity: FileIdentity
  let size: UInt64

  /// A folder that the plugin may write to can hold anything at that name by now: what isn't a regular file isn't opened
  /// for reading, and links are refused.
  init?(_ path: String) {
    var number: Int32 = -1
    guard ol_open_without_links(path, ol_open_path, &number) == 0 else { return nil }
    let found = OwnedDescriptor(taking: number)
    guard let identity = try? found.identity(), identity.isRegularFile,
      let file = try? OwnedDescriptor.open("/proc/self/fd/\(found.number)", O_RDONLY | O_NONBLOCK)
    else { return nil }
    descriptor = file
    self.identity = identity
    size = UInt64(clamping: identity.size)
  }

  func isCached(at places: [UInt64]) -> Bool {
    places.allSatisfy { ol_is_cached(descriptor.number, Int64(clamping: $0)) != 0 }
  }
}
