import CExtension
import Glibc

/// Where messages go: to the host that has loaded the extension, or to standard error in any other process.
enum LogSink {
  static func write(_ type: OSLogType, subsystem: String, category: String, message: String) {
    guard let host = ba_current_host(), let log = host.pointee.log else {
      return writeToStandardError(line(type, subsystem: subsystem, category: category, message: message))
    }
    borrowing(subsystem) { subsystem in
      borrowing(category) { category in
        borrowing(message) { message in log(host, level(of: type), subsystem, category, message) }
      }
    }
  }

  private static func level(of type: OSLogType) -> Int32 {
    switch type {
    case .debug: BA_LOG_DEBUG
    case .info: BA_LOG_INFO
    case .error: BA_LOG_ERROR
    case .fault: BA_LOG_FAULT
    default: BA_LOG_DEFAULT
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

  private static func borrowing(_ text: String, _ body: (ba_string) -> Void) {
    var text = text
    text.withUTF8 { utf8 in
      utf8.withMemoryRebound(to: CChar.self) { body(ba_string(bytes: $0.baseAddress, length: $0.count)) }
    }
  }
}
