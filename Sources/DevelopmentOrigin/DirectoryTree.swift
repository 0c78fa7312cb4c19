internal import Basics
internal import CLinux
internal import Glibc
internal import LinuxSystem

/// A directory and what lies beneath it. The kernel walks the paths (openat2(2)): no symbolic link, nothing outside.
final class DirectoryTree: Sendable {
  enum Entry {
    case file(Content, modified: Int)
    /// Names; directories end with a slash.
    case directory([String])
    case missing
    case forbidden
  }

  private let root: OwnedDescriptor
  private let subject: String

  init(_ path: String) throws(SystemCallError) {
    root = try OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY)
    subject = path
  }

  /// `path` begins with a slash.
  func entry(at path: [UInt8]) -> Entry {
    let relative = path.drop { $0 == UInt8(ascii: "/") }
    guard !relative.contains(0) else { return .missing }
    let name = (relative.isEmpty ? [UInt8(ascii: ".")] : Array(relative)).map { CChar(bitPattern: $0) } + [0]
    var number: Int32 = -1
    do throws(SystemCallError) {
      // A FIFO that is opened for reading would wait for its writer.
      try check("openat2", subject) { ol_open_beneath(root.number, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &number) }
    } catch {
      return error.code == EACCES || error.code == EPERM ? .forbidden : .missing
    }
    let descriptor = OwnedDescriptor(taking: number)
    guard let identity = try? descriptor.identity() else { return .missing }
    if identity.isRegularFile {
      guard path.last != UInt8(ascii: "/") else { return .missing }
      let file = OpenFile(descriptor, identity)
      return .file(.file(file), modified: file.modified)
    }
    guard identity.isDirectory, let stream = fdopendir(descriptor.release()) else { return .missing }
    defer { closedir(stream) }
    return .directory(Self.names(stream))
  }

  private static func names(_ stream: OpaquePointer) -> [String] {
    var names: [String] = []
    while names.count < 100_000, let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name == "." || name == ".." { continue }
      switch Int(entry.pointee.d_type) {
      case Int(DT_DIR): names.append(name + "/")
      case Int(DT_REG), Int(DT_UNKNOWN): names.append(name)
      default: continue
      }
    }
    return names.sorted()
  }
}

/// A directory as a page.
enum Listing {
  static func html(_ names: [String], of path: String) -> [UInt8] {
    var page =
      "<!doctype html>\n<meta charset=utf-8>\n<title>\(escaped(path))</title>\n<h1>\(escaped(path))</h1>\n<ul>\n"
    if path != "/" { page += "<li><a href=\"../\">../</a>\n" }
    // The prefix keeps a name with a colon from being read as a URL's scheme.
    for name in names { page += "<li><a href=\"./\(percentEncoded(name))\">\(escaped(name))</a>\n" }
    return Array((page + "</ul>\n").utf8)
  }

  static func percentEncoded(_ text: String) -> String {
    var result = ""
    for byte in text.utf8 {
      switch byte {
      case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x2e, 0x2f, 0x5f, 0x7e:
        result.unicodeScalars.append(Unicode.Scalar(byte))
      default: result += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }
    return result
  }

  private static func escaped(_ text: String) -> String {
    var result = ""
    for character in text {
      switch character {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      default: result.append(character)
      }
    }
    return result
  }
}

/// Content types by the name's ending: the few that a browser has to know.
enum ContentTypes {
  static func of(_ path: String) -> String {
    guard let dot = path.lastIndex(of: "."), !path[dot...].hasSlash else { return "application/octet-stream" }
    return switch path[path.index(after: dot)...].lowercased() {
    case "html", "htm": "text/html; charset=utf-8"
    case "txt", "md", "yaml", "yml": "text/plain; charset=utf-8"
    case "json": "application/json"
    case "css": "text/css"
    case "js": "text/javascript"
    case "svg": "image/svg+xml"
    case "png": "image/png"
    case "jpg", "jpeg": "image/jpeg"
    case "mp4": "video/mp4"
    case "zip": "application/zip"
    default: "application/octet-stream"
    }
  }
}
