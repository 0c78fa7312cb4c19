internal import Basics
internal import Glibc
internal import LinuxSystem

/// Which headers are read, and how.
package struct HeaderRequest: Sendable, Equatable {
  /// Paths with a '/', or names that are looked up in the folders of headers.
  package var headers: [String]
  /// Folders that are looked in before the system's.
  package var includes: [String]
  /// `NAME` or `NAME=VALUE`.
  package var defines: [String]

  package init(headers: [String], includes: [String] = [], defines: [String] = []) {
    (self.headers, self.includes, self.defines) = (headers, includes, defines)
  }

  private static let systemFolders = ["/usr/local/include", "/usr/include/x86_64-linux-gnu", "/usr/include"]
  private static let maxHeaders = 64

  /// What a compiler is given, and what of the file system it needs for that.
  struct Compilation: Equatable {
    var source: String
    var arguments: [String]
    var folders: [String]
  }

  func compilation(_ clang: ClangLocation) throws(HeaderReader.Failure) -> Compilation {
    guard !headers.isEmpty, headers.count <= Self.maxHeaders, includes.count + defines.count <= Self.maxHeaders else {
      throw .init(exitStatus: 64, "one read has 1 to \(Self.maxHeaders) headers, and as many folders and definitions")
    }
    for text in headers + includes + defines
    where text.isEmpty || text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f || $0 == 0x22 || $0 == 0x3e }) {
      throw .init(exitStatus: 64, "'\(text)' is no name of a header, a folder or a macro that a compiler can be given")
    }
    let own = [clang.headers] + Self.systemFolders.filter(Files.exists)
    var result = Compilation(source: "", arguments: ["-x", "c", "-std=gnu17", "-nostdinc", "-w"], folders: own)
    for folder in includes {
      let path = try Self.real(folder)
      guard (try? Files.identity(of: path))?.isDirectory == true else {
        throw .init(exitStatus: 66, "\(folder): not a folder; name the one that the header lies in")
      }
      result.arguments += ["-I", path]
      result.folders.append(path)
    }
    for folder in own { result.arguments += ["-isystem", folder] }
    for definition in defines { result.arguments.append("-D\(definition)") }
    for header in headers {
      guard header.hasSlash, !Self.isBelowSystemFolder(header) else {
        result.source += "#include <\(header)>\n"
        continue
      }
      let path = try Self.real(header)
      guard (try? Files.identity(of: path))?.isRegularFile == true else {
        throw .init(exitStatus: 66, "\(header): not a regular file; name a header")
      }
      result.source += "#include \"\(path)\"\n"
      let folder = path.parentFolder ?? ""
      guard !folder.isEmpty else {
        throw .init(exitStatus: 66, "\(header) lies in /, and what reads it would see everything; move it to a folder")
      }
      result.folders.append(folder)
    }
    return result
  }

  /// `openssl/evp.h` is looked up as a compiler does, unless there is such a file here.
  private static func isBelowSystemFolder(_ header: String) -> Bool {
    !header.isAbsolutePath && !header.hasPrefix(".") && !Files.exists(header)
  }

  private static func real(_ path: String) throws(HeaderReader.Failure) -> String {
    do throws(SystemCallError) { return try Files.real(path) } catch {
      throw .init(exitStatus: 66, "\(path): \(SystemCallError.message(error.code))")
    }
  }
}
