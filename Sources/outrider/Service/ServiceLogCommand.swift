internal import ArgumentParser
internal import AssetModel
internal import Basics
internal import Foundation
internal import LinuxSystem
internal import ServiceProtocol
internal import Synchronization

struct ServiceLogCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "log", abstract: "Prints the service's own log, also when it doesn't run.",
    usage: "outrider service log [<options>]",
    discussion: """
      Of a service that a command started, this is a file; of systemd's unit, its journal. What happened to apps is in \
      `outrider log`.

      EXAMPLES
        outrider service log
        outrider service log --follow

      EXIT STATUS
        66   no service has run yet
      """)
  @OptionGroup var service: ServiceOptions
  @Option(help: "The newest so many lines.") var limit = 100
  @Flag(help: "Go on, and print what is added.") var follow = false

  func validate() throws {
    guard (0...1_000_000).contains(limit) else { throw ValidationError("--limit \(limit): give 0 to 1000000.") }
  }

  func run() async {
    do {
      let place = try service.place()
      if place.state == nil, Systemctl.run("is-active", ServiceUnits.service)?.status == 0 {
        let words = ["/usr/bin/journalctl", "--user", "-u", ServiceUnits.service, "-n", "\(limit)", "--no-pager"]
        throw ProcessImage.replace(
          words + (follow ? ["-f"] : []), environment: ProcessInfo.processInfo.environment)
      }
      try LogFile.check(place.log)
      guard Files.exists(place.log) else {
        throw Failure(66, "there is no log at \(place.log): no command has started a service there yet")
      }
      try await LogFile(path: place.log).print(last: limit, follow: follow)
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }
}

/// A log that the service writes and, from time to time, renames.
struct LogFile {
  var path: String

  private static let block = 1 << 16

  /// - Throws: Where something else has its name, which would keep who opens it waiting.
  static func check(_ path: String) throws(Failure) {
    let isRegular: Bool
    do throws(SystemCallError) {
      // The service doesn't follow one.
      isRegular = try Files.identity(of: path).isRegularFile && Files.link(path) == nil
    } catch {
      // A link to nothing is something, too.
      if [ENOENT, ENOTDIR].contains(error.code), Files.link(path) == nil { return }
      guard error.code == ENOENT else {
        throw Failure(
          73, "\(path) can't be looked at: \(SystemCallError.message(error.code)); only the user whose state it is may")
      }
      isRegular = false
    }
    guard isRegular else {
      throw Failure(73, "\(path) isn't a regular file, and the service's log goes there; move it away")
    }
  }

  func print(last: Int, follow: Bool) async throws {
    // Before the first reading: what is added after it isn't missed.
    let changes = follow ? try Changes(of: path) : nil
    if follow { Interrupts.onInterrupt {} }
    var file = try open()
    var offset = try start(of: last, in: file)
    var rest: [UInt8] = []
    while true {
      try file.seek(toOffset: offset)
      while let data = try file.read(upToCount: Self.block), !data.isEmpty {
        offset += UInt64(data.count)
        rest += data
        emit(&rest)
        if Output.failure.withLock({ $0 }) != nil { return }
      }
      guard let changes else { break }
      changes.wait()
      // Put aside, and begun again under the same name.
      var (named, opened) = (stat(), stat())
      if stat(path, &named) == 0, fstat(file.fileDescriptor, &opened) == 0, named.st_ino != opened.st_ino {
        (file, offset) = (try open(), 0)
      }
    }
    if !rest.isEmpty { Output.line(Self.shown(rest[...])) }
  }

  private func open() throws -> FileHandle {
    guard let file = FileHandle(forReadingAtPath: path) else {
      throw Failure(66, "\(path) can't be read: \(SystemCallError.message(errno))")
    }
    return file
  }

  /// Prints whole lines.
  private func emit(_ bytes: inout [UInt8]) {
    guard let end = bytes.lastIndex(of: UInt8(ascii: "\n")) else { return }
    for line in bytes[..<end].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      Output.line(Self.shown(line))
    }
    bytes.removeFirst(end + 1)
  }

  private static func shown(_ line: ArraySlice<UInt8>) -> String {
    Printable.text(String(decoding: line, as: UTF8.self), limit: 8192)
  }

  /// Where the last lines begin.
  private func start(of lines: Int, in file: FileHandle) throws -> UInt64 {
    var position = try file.seekToEnd()
    // The end of the last line isn't the beginning of another.
    var left = lines + 1
    while position > 0 {
      let count = min(UInt64(Self.block), position)
      try file.seek(toOffset: position - count)
      let data = [UInt8](try file.read(upToCount: Int(count)) ?? Data())
      for index in data.indices.reversed() where data[index] == UInt8(ascii: "\n") {
        left -= 1
        if left == 0 { return position - count + UInt64(index) + 1 }
      }
      position -= count
    }
    return 0
  }

  /// inotify(7) on the file and the folder that has its name.
  private final class Changes {
    private let descriptor: OwnedDescriptor

    init(of path: String) throws {
      let number = inotify_init1(Int32(IN_CLOEXEC))
      guard number >= 0 else { throw Failure(70, "\(path) can't be watched: \(SystemCallError.message(errno))") }
      descriptor = OwnedDescriptor(taking: number)
      let folder = path.parentFolder ?? ""
      for (path, mask) in [(path, IN_MODIFY), (folder, IN_CREATE | IN_MODIFY)] {
        guard inotify_add_watch(number, path, UInt32(mask)) >= 0 else {
          throw Failure(70, "\(path) can't be watched: \(SystemCallError.message(errno))")
        }
      }
    }

    func wait() {
      var buffer = [UInt8](repeating: 0, count: 4096)
      while read(descriptor.number, &buffer, buffer.count) < 0, errno == EINTR {}
    }
  }
}
