internal import CLinux

/// The library of the package's `Preload` target, in the fork server.
struct PreloadedLibrary {
  private let handle: UnsafeMutableRawPointer
  private let touch: @convention(c) () -> Void

  /// Loads it and lets it touch what extensions usually need.
  init?(loading path: String) {
    guard let library = ol_load(path, 0, 1) else { return nil }
    var address: UnsafeMutableRawPointer?
    guard ol_symbol(library, "outrider_preload", &address) == OL_SYMBOL_FUNCTION, let address else { return nil }
    handle = library
    touch = unsafeBitCast(address, to: (@convention(c) () -> Void).self)
    touch()
  }

  /// Once more, with what the loader does for an extension that needs the same.
  func rehearse() {
    ol_look_up_imports(handle)
    touch()
  }
}
