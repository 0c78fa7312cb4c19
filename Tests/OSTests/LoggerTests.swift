import Foundation
import OSLog
import Testing

@testable import os

// What reaches a host is tested with the extension's entry points: a process has but one host.
@Suite(.timeLimit(.minutes(1))) struct LoggerTests {
  private func message(_ message: OSLogMessage) -> String { message.text }

  @Test func values() {
    let name = "n"
    let count = 3
    let size: Int64 = -4
    let ratio = 0.5
    let flag = true
    let error: any Error = CocoaError(.fileNoSuchFile)
    let missing: String? = nil
    #expect(message("\(name, privacy: .public) \(count) \(size) \(flag)") == "n 3 -4 true")
    #expect(
      message("\(ratio, format: .fixed(precision: 2)) \(Float(1), format: .exponential(precision: 1))")
        == "0.50 1.0e+00")
    #expect(
      message("\(255, format: .hex) \(255, format: .hex(includePrefix: true, uppercase: true, minDigits: 4))")
        == "ff 0x00FF")
    #expect(message("\(Int32(-1), format: .hex) \(Int8(-1), format: .octal) \(-1)") == "ffffffff 377 -1")
    #expect(
      message("[\(name, align: .right(columns: 3), privacy: .public)] [\(count, align: .left(columns: 3))]")
        == "[  n] [3  ]")
    #expect(message("\(flag, format: .answer) \(Int.self, privacy: .public)") == "yes Int")
    #expect(
      message("\(URL(string: "https://e.com")!, privacy: .public) \(error as NSError)").hasPrefix("https://e.com"))
    #expect(!message("\(error)").isEmpty)
    #expect(
      message(
        "\(String(describing: missing), privacy: .public) \(missing, privacy: .public) \([1, 2], privacy: .public)")
        == "nil nil [1, 2]")
    let failure: (any Error)? = CancellationError()
    let success: (any Error)? = nil
    #expect(message("\(failure, privacy: .public) \(success, privacy: .public)") == "CancellationError() nil")
    #expect(message("\(error.localizedDescription, privacy: .public)") == error.localizedDescription)
  }

  @Test func valueFormats() {
    let size = 1_540_000
    #expect(
      message("\(size, format: .byteCount)|\(size, format: .byteCountIEC)|\(4720, format: .byteCount)")
        == "1.54 MB|1.47 MiB|4.72 kB")
    #expect(
      message("\(5, format: .byteCount)|\(999_600, format: .byteCount)|\(1010, format: .byteCountIEC)")
        == "5 B|1 MB|1010 B")
    #expect(
      message("\(Int32(5_000_000), format: .bitrate, privacy: .public)|\(123_000 as UInt64, format: .bitrateIEC)")
        == "5 Mbps|120 Kibps")
    let time: time_t = 604_800
    #expect(message("\(time, format: .secondsSince1970)").hasPrefix("1970-01-0"))
    #expect(
      message("\(EPIPE, format: .darwinErrno) \(SIGSEGV, format: .darwinSignal)")
        == "[32: Broken pipe] [11: Segmentation fault]")
    #expect(
      message("\(Int32(0o40755), format: .darwinMode)|\(Int32(0o100700), format: .darwinMode)")
        == "drwxr-xr-x|-rwx------")
    #expect(
      message("\(Int32(bigEndian: 0x7f00_0001), format: .ipv4Address) \(Int32(7), format: .truth)")
        == "127.0.0.1 true")
    #expect(message("\(Int32(0), format: .answer) \(EPIPE, format: .darwinErrno, privacy: .private)") == "NO <private>")
    let identifier = UUID()
    let text = withUnsafeBytes(of: identifier.uuid) { message("\($0, format: .uuid, privacy: .public)") }
    #expect(text == identifier.uuidString)
    #expect(
      message("\("a", privacy: .public, attributes: "k") \(1, attributes: "k") \(true, attributes: "k")") == "a 1 true")
  }

  @Test func privacy() {
    let secret = "secret"
    #expect(message("\(secret) \(secret, privacy: .public) \(secret, privacy: .auto)") == "<private> secret <private>")
    #expect(message("\(secret, privacy: .private) \(7, privacy: .sensitive)") == "<private> <private>")
    let hashes = message("\(secret, privacy: .private(mask: .hash)) \(secret, privacy: .sensitive(mask: .hash))").split(
      separator: " ")
    #expect(hashes.count == 4 && hashes[1] == hashes[3] && !hashes[1].contains(secret))
    #expect(
      message("\(secret, privacy: .auto(mask: .hash)) \(secret, align: .right(columns: 12))").hasPrefix("<mask.hash: "))
  }

  @Test("numbers are public, strings and objects private, unless the author or the host says otherwise")
  func whatIsPrivateByItself() {
    let error: any Error = CocoaError(.fileNoSuchFile)
    let missing: Int? = nil
    #expect(
      message("\(1) \(-2 as Int8) \(0.5) \(Float(2)) \(true) \(5, format: .hex)") == "1 -2 0.500000 2.000000 true 5")
    #expect(
      message("\(error) \(error as NSError) \(URL(string: "https://e.com")!) \([1]) \(Int.self) \(missing)")
        == Array(repeating: "<private>", count: 6).joined(separator: " "))
    let format = "%d %@ %s %{public}@ %@ %f"
    #expect(FormattedMessage.text(format, [1, "a", "b", "c", 2, 0.5]) == "1 <private> <private> c <private> 0.500000")
    #expect(FormattedMessage.text("%d %{public}d %{private}d", ["text", "text", 3]) == "<private> text <private>")
    let secret = "secret"
    for privacy in [OSLogPrivacy.auto, .private, .auto(mask: .hash), .private(mask: .hash)] {
      #expect(privacy.applied(to: secret, isScalar: false, showsPrivate: true) == secret)
      #expect(!privacy.applied(to: secret, isScalar: false, showsPrivate: false).contains(secret))
    }
    #expect(OSLogPrivacy.sensitive.applied(to: secret, isScalar: true, showsPrivate: true) == "<private>")
  }

  @Test(
    arguments: [
      ("plain", [], "plain"), ("%d%%", [7], "7%"), ("%{public}@, %{private}s", ["text", "hidden"], "text, <private>"),
      ("%5.1f|%x|%lu", [2.25, 255, 1], "  2.2|ff|1"), ("%{public}d %@ %q", ["not a number"], "not a number %@ %q"),
      ("%*d|%-*d|%.*f", [4, 7, 3, 1, 1, 2.25], "   7|1  |2.2"), ("%.*f", [-1, 2.5], "2.500000"),
      ("%x %u %lx", [Int32(-1), Int32(-1), Int32(-1)], "ffffffff 4294967295 ffffffffffffffff"),
      ("%d %hhd %hhu %hx", [5_000_000_000, 300, 300, -1], "5000000000 44 44 ffff"),
      ("%c%c %p", [65, Int32(66), 255], "AB 0xff"),
      ("%{public}5s|%{public}-3s|%{public}.2s", ["a", "b", "text"], "    a|b  |te"),
      ("%{bool}d %{BOOL}d %d %{public}@", [1, 0, true, true], "true NO 1 true"),
      ("%{errno}d %{public, darwin.errno}d", [2, 13], "[2: No such file or directory] [13: Permission denied]"),
      ("%{bytes}d %{iec-bytes}llu %{bitrate}d", [4720, 4720, 123_000], "4.72 kB 4.61 KiB 123 kbps"),
      ("%{darwin.mode}d %{darwin.signal}d", [0o40755, 11], "drwxr-xr-x [11: Segmentation fault]"),
      ("%", [], "%"), ("%999999999d", [1], "%999999999d"), ("%*d", [1], "%*d"), ("%{public", [], "%{public"),
    ] as [(String, [any Sendable], String)])
  func formats(format: String, arguments: [any Sendable], expected: String) {
    #expect(FormattedMessage.text(format, arguments) == expected)
  }

  @Test func errorOfTheCallTakesNoArgument() {
    #expect(FormattedMessage.text("open: %m (%d)", [7], code: ENOENT) == "open: No such file or directory (7)")
    #expect(FormattedMessage.text("%{time_t}d", [86400 * 365]).hasPrefix("197"))
  }

  @Test func memoryThatIsLeft() { #expect(os_proc_available_memory() > 0) }

  @Test func textBehindPointers() {
    let long = String(repeating: "x", count: 5000)
    "héllo".withCString { #expect(FormattedMessage.text("%{public}s|%{public}.1s", [$0, $0]) == "héllo|h") }
    long.withCString { #expect(FormattedMessage.text("%{public}s", [$0]).count == 1024) }
    let bytes: [CChar] = [104, 105]
    bytes.withUnsafeBufferPointer { #expect(FormattedMessage.text("%{public}.*s", [2, $0.baseAddress!]) == "hi") }
    let none: UnsafePointer<CChar>? = nil
    #expect(FormattedMessage.text("%s", [none]) == "(null)")
  }

  @Test func hashOfAFormatIsThatOfALogger() {
    let hash = message("\("secret", privacy: .private(mask: .hash))")
    #expect(FormattedMessage.text("%{private, mask.hash}@ %{mask.hash}s", ["secret", "secret"]) == "\(hash) \(hash)")
    #expect(FormattedMessage.text("%{sensitive}d", [1]) == "<private>")
  }

  @Test func formsOfTheCallCompile() {
    let log = OSLog(subsystem: "com.example", category: "c")
    let silent = OSLog.disabled
    os_log("interpolated %d", log: silent, type: .error, 3)
    os_log(.info, log: silent, "interpolated \(3)")
    os_log(.info, log: silent, "plain")
    #expect(log.isEnabled(type: .debug) && !silent.isEnabled(type: .fault))
  }

  @Test func signpostsCompile() {
    let log = OSLog(subsystem: "com.example", category: .pointsOfInterest)
    let id = OSSignpostID(log: log)
    os_signpost(.begin, log: log, name: "load", signpostID: id, "request %d %{public}@", 1, "a")
    os_signpost(.event, log: log, name: "load")
    os_signpost(.event, log: log, name: "load", "plain")
    os_signpost(.event, log: log, name: "load", "\(1) item")
    os_signpost(.end, log: log, name: "load", signpostID: id)
    #expect(!log.signpostsEnabled && OSSignpostType.end.rawValue == 2)

    let signposter = OSSignposter(subsystem: "com.example", category: .pointsOfInterest)
    let state = signposter.beginInterval("load", id: signposter.makeSignpostID(from: log))
    signposter.endInterval("load", state, "done \(1)")
    #expect(signposter.withIntervalSignpost("load", id: id, "message \(2)") { 3 } == 3)
    #expect(signposter.withIntervalSignpost("load") { 4 } == 4)
    #expect(signposter.makeSignpostID(from: log) == OSSignpostID(log: log, object: log))
    #expect(OSSignposter(subsystem: "com.example", category: "c").makeSignpostID(from: signposter as AnyObject) != id)
  }

  @Test func unfairLock() {
    var lock = os_unfair_lock()
    os_unfair_lock_lock(&lock)
    #expect(!os_unfair_lock_trylock(&lock))
    os_unfair_lock_assert_owner(&lock)
    os_unfair_lock_unlock(&lock)
    os_unfair_lock_assert_not_owner(&lock)
  }

  @Test func ownership() {
    let lock = OSAllocatedUnfairLock()
    lock.precondition(.notOwner)
    let wasFree = lock.withLockIfAvailable {
      lock.precondition(.owner)
      Thread { lock.precondition(.notOwner) }.start()
      return lock.withLockIfAvailable { 1 } == nil
    }
    #expect(wasFree == true)
    let state = OSAllocatedUnfairLock(initialState: 1)
    #expect(state.withLockIfAvailable { $0 } == 1)
    state.precondition(.notOwner)
  }

  @Test func wrongOwnershipEndsTheProcess() async {
    await #expect(processExitsWith: .failure) { OSAllocatedUnfairLock().precondition(.owner) }
    await #expect(processExitsWith: .failure) {
      let lock = OSAllocatedUnfairLock()
      lock.withLock { lock.precondition(.notOwner) }
    }
  }

  @Test func lock() async {
    let lock = OSAllocatedUnfairLock(initialState: 0)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 { group.addTask { for _ in 0..<1000 { lock.withLock { $0 += 1 } } } }
    }
    #expect(lock.withLock { $0 } == 8000)
    #expect(OSAllocatedUnfairLock().withLock { 1 } == 1)
  }
}
