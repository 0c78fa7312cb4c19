internal import Basics
internal import Glibc
internal import LinuxSystem

/// Where libclang lies, and the headers that belong to the compiler itself (stddef.h and the like).
package struct ClangLocation: Sendable, Equatable {
  /// The library, with links resolved.
  package var library: String
  package var headers: String

  private static let maxNames = 4096

  /// The first that is whole: `OUTRIDER_LIBCLANG`, Debian's, other distributions', then that of a compiler in PATH, such as Swift's.
  ///
  /// - Parameter environment: Where `OUTRIDER_LIBCLANG` and `PATH` are looked up.
  /// - Returns: nil where there is none.
  package static func find(_ environment: (String) -> String? = { getenv($0).map { String(cString: $0) } }) -> Self? {
    if let named = environment("OUTRIDER_LIBCLANG") { return Self(library: named) }
    var folders = versions(in: "/usr/lib", "llvm-").map { "/usr/lib/\($0)/lib" }
    folders += ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"]
    for folder in (environment("PATH") ?? "").split(separator: ":") {
      for compiler in ["clang", "swiftc"] {
        guard let path = try? Files.real("\(folder)/\(compiler)") else { continue }
        folders.append(parent(parent(path)) + "/lib")
      }
    }
    for folder in folders {
      for name in ["libclang.so.1", "libclang.so"] + versions(in: folder, "libclang.so.")
        + versions(in: folder, "libclang-")
      where name.contains(".so") && !name.hasPrefix("libclang-cpp") {
        if let found = Self(library: "\(folder)/\(name)") { return found }
      }
    }
    return nil
  }

  private init?(library path: String) {
    guard let real = try? Files.real(path) else { return nil }
    library = real
    // Debian's library is a link from the folder with the headers to the one that the loader looks in.
    for folder in [Self.parent(path), Self.parent(real)] {
      for version in Self.versions(in: folder + "/clang", "") {
        let headers = "\(folder)/clang/\(version)/include"
        if Files.exists(headers + "/stddef.h"), let found = try? Files.real(headers) {
          self.headers = found
          return
        }
      }
    }
    let file = real.pathNames.last ?? ""
    let number = file.drop { !$0.isNumber }.prefix { $0.isNumber }
    guard !number.isEmpty else { return nil }
    let own = "/usr/lib/llvm-\(number)/lib/clang"
    for version in Self.versions(in: own, "") where Files.exists("\(own)/\(version)/include/stddef.h") {
      headers = "\(own)/\(version)/include"
      return
    }
    return nil
  }

  private static func parent(_ path: String) -> String {
    path.parentFolder ?? ""
  }

  /// The newest first.
  private static func versions(in folder: String, _ prefix: String) -> [String] {
    let names = (try? Files.names(in: folder, atMost: maxNames)) ?? []
    func number(_ name: String) -> Int { Int(name.dropFirst(prefix.count).prefix { $0.isNumber }) ?? 0 }
    return names.filter { $0.hasPrefix(prefix) }.sorted { (number($0), $0) > (number($1), $1) }
  }
}
