internal import AssetModel

/// Words as a shell takes them.
enum ShellWord {
  static func quoted(_ word: String) -> String {
    let isPlain = word.utf8.allSatisfy { byte in
      (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte | 0x20) || "/._-+:=@,".utf8.contains(byte)
    }
    // What a terminal would obey, as bash, zsh and POSIX.1-2024 write it.
    guard !word.unicodeScalars.contains(where: DownloadRules.isDeceptive) else {
      return "$'" + word.unicodeScalars.map(escaped).joined() + "'"
    }
    // By scalars: a quote with an accent after it is one character to Swift, and a quote to a shell.
    return isPlain && !word.isEmpty
      ? word : "'" + word.unicodeScalars.map { $0 == "'" ? "'\\''" : String($0) }.joined() + "'"
  }

  private static func escaped(_ scalar: Unicode.Scalar) -> String {
    if scalar == "'" || scalar == "\\" { return "\\\(scalar)" }
    guard DownloadRules.isDeceptive(scalar) else { return String(scalar) }
    return String(scalar).utf8.map { "\\x" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
