internal import CLinux

/// What debuggers and `top -H` call a thread: at most 15 bytes (PR_SET_NAME, prctl(2)).
package enum ThreadName {
  package static func set(_ name: StaticString) {
    name.withUTF8Buffer { bytes in
      // A static string ends with a zero byte.
      if let start = bytes.baseAddress { ol_name_thread(UnsafeRawPointer(start).assumingMemoryBound(to: CChar.self)) }
    }
  }
}
