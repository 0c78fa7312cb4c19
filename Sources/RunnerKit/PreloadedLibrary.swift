internal import CLinux
internal import Glibc

/// The library of the package's `Preload` target, in the fork server.
struct PreloadedLibrary {
  private let path: String
  private let practise: @convention(c) () -> Void

  /// Loads it and lets it touch what extensions usually need.
  init?(loading path: String) {
    guard let library = ol_load(path, 0, 1) else { return nil }
    guard let touch = Self.function("outrider_preload", of: library),
      let practise = Self.function("outrider_rehearse", of: library)
    else { return nil }
    self.path = path
    self.practise = practise
    touch()
  }

  private static func function(_ name: String, of library: UnsafeMutableRawPointer) -> (@convention(c) () -> Void)? {
    var address: UnsafeMutableRawPointer?
    guard ol_symbol(library, name, &address) == OL_SYMBOL_FUNCTION, let address else { return nil }
    return unsafeBitCast(address, to: (@convention(c) () -> Void).self)
  }

  /// In a process of its own: what nearly every extension does, with what the loader does for one that needs the same
  /// libraries. A copy is loaded for that, since the loader knows the file itself. `processes` is /proc.
  func rehearse(processes: Int32) {
    var copy: Int32 = -1
    if ol_copy_to_memory(path, &copy) == 0, fchdir(processes) == 0 { _ = ol_load("self/fd/\(copy)", 0, 0) }
    practise()
  }
}
