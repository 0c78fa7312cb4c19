internal import Basics
internal import Glibc

/// The runtime of a sanitizer that a library was made with (`-fsanitize=address`), and that has to be the first library of its
/// process. For runs without a sandbox alone: it wants terabytes of address space.
enum Sanitizer {
  private static let names = ["asan", "hwasan", "lsan", "tsan"].map { "lib\($0).so" }
  private static let options = ["ASAN_OPTIONS", "HWASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"]
  private static let longestOption = 4096

  /// nil where the library needs none. Clang's has its own name, and only with -shared-libsan one at all.
  static func library(of image: PluginImage) -> String? { library(among: image.elf?.needed ?? []) }

  static func library(among needed: [String]) -> String? {
    needed.first { name in
      names.contains { name == $0 || name.hasPrefix($0 + ".") } && !name.hasSlash
        || name.hasPrefix("libclang_rt.") && name.hasSuffix(".so") && !name.hasSlash
    }
  }

  /// The runtime reads its options before anything of a run is there.
  static func environment(loading library: String) -> [String] {
    ["LD_PRELOAD=\(library)"]
      + options.compactMap { name in
        guard let value = getenv(name), strnlen(value, longestOption + 1) <= longestOption else { return nil }
        return "\(name)=\(String(cString: value))"
      }
  }
}
