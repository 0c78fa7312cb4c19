internal import Glibc

/// Paths as the kernel reads them: bytes, divided at each "/". Swift's own comparison goes by characters: in "/a/\u{301}" the last slash
/// and the accent are one, so that it doesn't begin with "/a/", and `split` leaves "..\u{2f}\u{301}" whole.
extension StringProtocol {
  package var isAbsolutePath: Bool { utf8.first == slash }

  /// Whether this is more than one name.
  package var hasSlash: Bool { utf8.contains(slash) }

  /// Whether this is `folder`, or the path of something in it. Both without a "/" at their end, but for the root.
  package func lies(in folder: some StringProtocol) -> Bool {
    withBytes { path in
      folder.withBytes { folder in
        let count = folder.count == 1 && folder[0] == slash ? 0 : folder.count
        guard path.count >= count, count == 0 || memcmp(path.baseAddress!, folder.baseAddress!, count) == 0 else {
          return false
        }
        return path.count == count || path[count] == slash
      }
    }
  }

  /// Whether this is the path of something in `folder`, and not `folder` itself.
  package func lies(below folder: some StringProtocol) -> Bool { utf8.count > folder.utf8.count && lies(in: folder) }

  /// The names that a path is made of, without empty ones and ".", which lead nowhere.
  package var pathNames: [String] {
    withBytes { path in
      guard let start = path.baseAddress else { return [] }
      var names: [String] = []
      var begin = 0
      while begin < path.count {
        let found = memchr(start + begin, Int32(slash), path.count - begin)
        let end = found.map { UnsafeRawPointer($0) - UnsafeRawPointer(start) } ?? path.count
        let isDot = end - begin == 1 && path[begin] == UInt8(ascii: ".")
        if end > begin, !isDot { names.append(String(decoding: path[begin..<end], as: UTF8.self)) }
        begin = end + 1
      }
      return names
    }
  }

  /// What follows the last "/"; all of it where there is none.
  package var lastPathName: String {
    withBytes { path in
      let begin = path.lastIndex(of: slash).map { $0 + 1 } ?? 0
      return String(decoding: path[begin...], as: UTF8.self)
    }
  }

  /// The folder that a path's last name lies in, "/" for what lies in the root; nil where there is no "/".
  package var parentFolder: String? {
    withBytes { path in
      path.lastIndex(of: slash).map { $0 == 0 ? "/" : String(decoding: path[..<$0], as: UTF8.self) }
    }
  }

  /// What follows `folder`, in which this lies: "", or it begins with "/".
  package func rest(after folder: some StringProtocol) -> String {
    String(decoding: utf8.dropFirst(folder.utf8.count), as: UTF8.self)
  }

  fileprivate func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    if let result = utf8.withContiguousStorageIfAvailable(body) { return result }
    return Array(utf8).withUnsafeBufferPointer(body)
  }
}

private let slash = UInt8(ascii: "/")
