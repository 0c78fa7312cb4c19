/// Where messages go: to the host that has loaded the extension, or to standard error in any other process.
enum LogSink {
  static func write(_ type: OSLogType, subsystem: String, category: String, message: String) {
    var text = message
    let isTaken = text.withUTF8 { hostLog(level(of: type), subsystem, category, $0.baseAddress, $0.count) } != 0
    if !isTaken {
      writeToStandardError(line(type, subsystem: subsystem, category: category, message: message))
    }
  }

  /// The numbers of `BA_LOG_DEBUG` to `BA_LOG_FAULT`.
  private static func level(of type: OSLogType) -> Int32 {
    switch type {
    case .debug: 0
    case .info: 1
    case .error: 3
    case .fault: 4
    default: 2
    }
  }

  private static func line(_ type: OSLogType, subsystem: String, category: String, message: String) -> String {
    let origin = subsystem.isEmpty ? "" : " [\(subsystem):\(category)]"
    return "\(type.name)\(origin) \(message)\n"
  }

  /// One write, so that lines of several threads don't mix.
  private static func writeToStandardError(_ line: String) {
    var line = line
    line.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while !rest.isEmpty {
        let count = Glibc.write(STDERR_FILENO, rest.baseAddress, rest.count)
        guard count > 0 || (count < 0 && errno == EINTR) else { return }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(max(0, count)))
      }
    }
  }
}

// Bound by name and not imported: a module that finds this one with `#if canImport(os)`, a dependency that has nothing to do
// with extensions for one, would otherwise need the C module's headers to compile.
@_silgen_name("ba_host_log")
private func hostLog(
  _ level: Int32, _ subsystem: UnsafePointer<CChar>, _ category: UnsafePointer<CChar>, _ message: UnsafePointer<UInt8>?,
  _ length: Int
) -> Int32
