/// What else the kernel reads when a program is executed: the interpreter of a script, or what loads an ELF file (execve(2), elf(5)). The
/// file may be a plugin's.
enum ProgramHead {
  /// Bytes of a file that are looked at. The kernel reads 256 of a script; linkers put the loader's name behind the headers.
  static let length = 4096
  private static let scriptLength = 256

  /// Its path, as the file has it; nil: it names none.
  static func interpreter(_ head: [UInt8]) -> String? {
    head.starts(with: [0x23, 0x21]) ? ofScript(head) : ofProgram(head)
  }

  /// `#!PATH [ARGUMENT]`.
  private static func ofScript(_ head: [UInt8]) -> String? {
    let isCut = head.count >= scriptLength
    let line = head.prefix(scriptLength).dropFirst(2).prefix { $0 != 0x0a && $0 != 0 }
    let path = line.drop { $0 == 0x20 || $0 == 0x09 }.prefix { $0 != 0x20 && $0 != 0x09 }
    // A path that the kernel would have to cut isn't executed (ENOEXEC).
    guard !path.isEmpty, !isCut || path.endIndex < scriptLength else { return nil }
    return String(decoding: path, as: UTF8.self)
  }

  /// Of a 64-bit little-endian file's PT_INTERP.
  private static func ofProgram(_ head: [UInt8]) -> String? {
    let view = FileWindows(head)
    guard view.integer(0, 4) == 0x464c_457f, view.integer(4, 1) == 2, let headers = view.integer(32, 8),
      let size = view.integer(54, 2),
      let count = view.integer(56, 2), size >= 56
    else { return nil }
    for index in 0..<count {
      let at = headers &+ index &* size
      guard let type = view.integer(at, 4), let offset = view.integer(at &+ 8, 8),
        let length = view.integer(at &+ 32, 8)
      else {
        return nil
      }
      guard type == 3 else { continue }
      guard length > 1, offset <= UInt64(head.count), length <= UInt64(head.count) - offset else { return nil }
      return String(decoding: head[Int(offset)..<Int(offset + length)].prefix { $0 != 0 }, as: UTF8.self)
    }
    return nil
  }
}
