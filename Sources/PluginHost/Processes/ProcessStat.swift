/// The fields of proc_pid_stat(5) that come after the process's name, from the state on, which is field 3.
enum ProcessStat {
  /// A name is any bytes of the process's own, so that the last parenthesis is looked for among bytes: a character may take it in.
  static func fields(of stat: String) -> [Substring]? {
    guard let end = stat.utf8.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    return stat.utf8[stat.utf8.index(after: end)...].split(separator: UInt8(ascii: " ")).map(Substring.init)
  }
}
