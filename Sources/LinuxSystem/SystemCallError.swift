internal import Glibc

/// A system call that failed: which, on what, and the errno value (errno(3)).
public struct SystemCallError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The call's name, as `openat2`.
  public let call: String
  /// The errno value (errno(3)).
  public let code: Int32
  /// What it was called on: a path, or a descriptor's number.
  public let subject: String

  /// Creates the error of a failed call.
  public init(_ call: String, code: Int32, subject: String) {
    self.call = call
    self.code = code
    self.subject = subject
  }

  public var description: String { "\(call)\(subject.isEmpty ? "" : " ")\(subject): \(Self.message(code))" }

  /// The text of an errno value, for example `No such file or directory`.
  ///
  /// - Parameter code: The errno value.
  /// - Returns: Its text, or `error` and the number of one that the C library doesn't know.
  public static func message(_ code: Int32) -> String {
    var buffer = [CChar](repeating: 0, count: 256)
    // The XSI form (Swift doesn't define _GNU_SOURCE's) fills the buffer.
    guard strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
    return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// Runs a shim of `CLinux`, which answers 0 or an errno value, and repeats it when a signal came between (EINTR).
package func check(
  _ call: StaticString, _ subject: @autoclosure () -> String, _ shim: () -> Int32
) throws(SystemCallError) {
  while true {
    switch shim() {
    case 0: return
    case EINTR: continue
    case let code: throw SystemCallError("\(call)", code: code, subject: subject())
    }
  }
}

/// Runs a function of the C library that answers -1 and sets errno.
@discardableResult
package func checkErrno<I: SignedInteger>(
  _ call: StaticString, _ subject: @autoclosure () -> String, _ body: () -> I
) throws(SystemCallError) -> I {
  while true {
    let result = body()
    if result >= 0 { return result }
    if errno != EINTR { throw SystemCallError("\(call)", code: errno, subject: subject()) }
  }
}
