internal import Foundation
internal import LinuxSystem
internal import ServiceProtocol

/// Starts the service beside the command, and waits until it listens.
///
/// An `outrider service detach` of its own starts it and ends: the service is then the child of init, and not of an
/// app which `outrider launch` becomes.
struct ServiceStarter: Sendable {
  enum Outcome: Sendable, Equatable {
    case ready(process: Int32?)
    /// Another one has the lock, perhaps one that hasn't begun to listen yet, or that is about to end.
    case alreadyRunning(String)
  }

  var place: ServicePlace
  /// Also for one that has to recover a large database.
  var timeout: Duration = .seconds(30)
  var program: String
  /// This program.
  var launcher = "/proc/self/exe"

  init(_ place: ServicePlace, program: String? = nil) throws {
    self.place = place
    self.program = try program ?? ServicePlace.program()
  }

  func start() throws -> Outcome {
    // The service inherits it, and couldn't open what it has made.
    Files.keepOwnersRights()
    try prepareLog()
    let logged = size(of: place.log)
    let ends = try Sockets.pair(stream: true)
    let incoming = OwnedDescriptor(taking: ends.0)
    let outgoing = OwnedDescriptor(taking: ends.1)
    var environment = ProcessInfo.processInfo.environment
    // That connection is the app's which runs this command.
    environment[ServicePaths.connectionVariable] = nil
    let words =
      [launcher, "service", "detach", "--log", place.log, "--", program]
      + place.arguments + ["--log-file", place.log, "--ready-fd", "\(DetachedProcess.channel)"]
    let helper: pid_t
    do {
      helper = try DetachedProcess.spawn(words, environment: environment, channel: outgoing.number)
    } catch {
      throw Failure(70, "the service can't be started: \(error)")
    }
    closed(outgoing)
    var ended: Int32 = 0
    while waitpid(helper, &ended, 0) < 0, errno == EINTR {}
    return try outcome(of: incoming, logged: logged)
  }

  private func closed(_ descriptor: consuming OwnedDescriptor) {}

  /// Reads what the launcher and the service say until one of them has said how it went.
  private func outcome(of channel: borrowing OwnedDescriptor, logged: Int64) throws -> Outcome {
    let deadline = ContinuousClock.now + timeout
    var (text, process): ([UInt8], Int32?) = ([], nil)
    while true {
      while let end = text.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: text[..<end], as: UTF8.self)
        text.removeFirst(end + 1)
        switch ServiceStartLine(line) {
        case .started(let pid): process = pid
        case .ready: return .ready(process: process ?? launched(text, channel))
        case .alreadyRunning(let how): return .alreadyRunning(how)
        case .failed(let why): throw Failure(69, "the service can't be started: \(why)")
        }
      }
      guard text.count <= Self.maxLine else { throw Failure(69, "\(program) isn't the service: it says too much") }
      guard isReadable(channel.number, until: deadline) else {
        let who = process.map { " (process \($0))" } ?? ""
        throw Failure(
          75,
          "the service\(who) is still starting after \(timeout.components.seconds) s; try again, or look at \(place.log)"
        )
      }
      var buffer = [UInt8](repeating: 0, count: 1024)
      let count = read(channel.number, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        let last = lastLine(after: logged).map { ": \($0)" } ?? ""
        throw Failure(69, "the service ended before it was ready\(last); its log is \(place.log)")
      }
      text += buffer[..<count]
    }
  }

  private static let maxLine = 8192

  /// A service may be ready before its launcher says that it was started. That has ended, so that its line is here.
  private func launched(_ text: [UInt8], _ channel: borrowing OwnedDescriptor) -> Int32? {
    var buffer = [UInt8](repeating: 0, count: 1024)
    let count = recv(channel.number, &buffer, buffer.count, Int32(MSG_DONTWAIT))
    for line in (text + buffer[..<max(count, 0)]).split(separator: UInt8(ascii: "\n")) {
      if case .started(let pid) = ServiceStartLine(String(decoding: line, as: UTF8.self)) { return pid }
    }
    return nil
  }

  private func isReadable(_ descriptor: Int32, until deadline: ContinuousClock.Instant) -> Bool {
    while true {
      let left = deadline - .now
      guard left > .zero else { return false }
      var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let milliseconds = left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000 + 1
      switch poll(&wanted, 1, Int32(clamping: milliseconds)) {
      case 1: return true
      case 0: return false
      default: if errno != EINTR { return false }
      }
    }
  }

  // MARK: The log

  /// The log of a service that is started over and over doesn't fill the disk.
  private static let maxLog: Int64 = 16 << 20

  private func prepareLog() throws {
    guard !place.lacksHome else {
      throw Failure(64, "the service can't be started: this user has no home; set HOME, or name a folder with --state")
    }
    do {
      try Files.makeDirectories(place.paths.store, mode: 0o700)
    } catch {
      throw Failure(73, "the service's state folder can't be made: \(error); name another with --state")
    }
    try LogFile.check(place.log)
    if size(of: place.log) > Self.maxLog { rename(place.log, place.log + ".1") }
    do {
      _ = try OwnedDescriptor.open(place.log, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode: 0o600)
    } catch {
      throw Failure(
        73,
        "the service's log can't be written: \(error); make its folder writable, or name another state folder with --state"
      )
    }
  }

  private func size(of path: String) -> Int64 {
    var facts = stat()
    return stat(path, &facts) == 0 ? Int64(facts.st_size) : 0
  }

  /// The last thing that a service said which didn't come to say that it is ready.
  private func lastLine(after offset: Int64) -> String? {
    guard let file = FileHandle(forReadingAtPath: place.log) else { return nil }
    let end = size(of: place.log)
    guard end > offset, (try? file.seek(toOffset: UInt64(max(offset, end - 4096)))) != nil,
      let data = try? file.read(upToCount: 4096)
    else { return nil }
    return String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline).last.map(String.init)
  }
}

/// One line on the descriptor that a service is started with.
enum ServiceStartLine: Equatable {
  /// From the launcher: the service's process.
  case started(Int32)
  case ready
  case alreadyRunning(String)
  case failed(String)

  init(_ line: String) {
    if line == "ready" {
      self = .ready
    } else if let pid = line.split(separator: " ").last.flatMap({ Int32($0) }), line == Self.started(pid) {
      self = .started(pid)
    } else {
      self = line.contains("already running") ? .alreadyRunning(line) : .failed(line)
    }
  }

  static func started(_ pid: Int32) -> String { "process \(pid)" }
}
