internal import Basics
internal import Foundation
internal import LinuxSystem
internal import ServiceClient
internal import ServiceProtocol

/// What `outrider doctor` says of the service: whether it runs, and whether it could.
struct ServiceHealth: Encodable {
  struct Finding: Encodable {
    var part: String
    /// `good`, `absent`: nothing is wrong, but it isn't there; `bad`: the service can't work so.
    var state: String
    var detail: String
  }

  var findings: [Finding]

  /// Starts nothing.
  static func read(_ place: ServicePlace) async -> Self {
    do {
      try await checkThatItAnswers(place)
      let report = try await ServiceReport.read(place)
      return Self(findings: [program, socket(place, report), process(report)] + rest(place, report))
    } catch {
      // Something answers that isn't a service of ours, or the socket can't be reached at all.
      let process = Finding(part: "process", state: "bad", detail: text(error))
      return Self(findings: [program, socket(place, nil), process] + rest(place, nil))
    }
  }

  /// Seconds in which a service has to say hello.
  private static let timeout = 5

  /// One that hangs isn't waited for: this is the command that has to say so.
  private static func checkThatItAnswers(_ place: ServicePlace) async throws {
    let session: ServiceSession
    do { session = try ServiceSession(ServiceConnection.connect(to: place.paths.socket)) } catch {
      if error.isServiceAbsent { return }
      throw error
    }
    let limit = Task {
      try await Task.sleep(for: .seconds(timeout))
      session.close()
    }
    defer { limit.cancel() }
    do throws(ServiceFailure) { _ = try await session.request(.hello(Hello(role: .operator))) } catch {
      guard session.isClosed else { throw error }
      throw Failure(
        75,
        "a service listens, and said nothing within \(timeout) s; 'outrider service log' may tell why, end it and start another"
      )
    }
  }

  private static func rest(_ place: ServicePlace, _ report: ServiceReport?) -> [Finding] {
    [database(place, report?.status), units, openFiles]
  }

  private static func text(_ error: any Error) -> String { (error as? Failure)?.message ?? "\(error)" }

  private static var program: Finding {
    do { return Finding(part: "program", state: "good", detail: try ServicePlace.program()) } catch {
      return Finding(part: "program", state: "bad", detail: text(error))
    }
  }

  /// `report`: nil where it couldn't be asked for.
  private static func socket(_ place: ServicePlace, _ report: ServiceReport?) -> Finding {
    let path = place.paths.socket
    let (count, limit) = (path.utf8.count, ServicePaths.maxSocketPath)
    guard count <= limit else {
      return Finding(
        part: "socket", state: "bad",
        detail: "\(path) has \(count) bytes, and a socket's path \(limit) at most; choose a shorter --state")
    }
    var folder = stat()
    guard stat(place.paths.runtime, &folder) == 0 else {
      return Finding(part: "socket", state: "absent", detail: "\(path); the service makes it")
    }
    guard folder.st_uid == geteuid() else {
      return Finding(
        part: "socket", state: "bad",
        detail: "\(place.paths.runtime) belongs to user \(folder.st_uid); remove it, or choose another --state")
    }
    guard Files.exists(path) else { return Finding(part: "socket", state: "absent", detail: path) }
    guard let report else { return Finding(part: "socket", state: "bad", detail: "\(path) can't be asked") }
    return report.isRunning
      ? Finding(part: "socket", state: "good", detail: path)
      : Finding(
        part: "socket", state: "absent",
        detail: "\(path): no process listens on it: a service ended without removing it; the next one replaces it")
  }

  private static func process(_ report: ServiceReport) -> Finding {
    guard let status = report.status else {
      if let elsewhere = report.elsewhere { return Finding(part: "process", state: "bad", detail: elsewhere.message) }
      return Finding(part: "process", state: "absent", detail: "any command that needs the service starts it")
    }
    let memory = ServiceWords.size(status.memoryBytes)
    return Finding(
      part: "process", state: "good",
      detail: "process \(status.process), \(memory), \(status.apps) apps, \(status.downloads) downloads")
  }

  private static func database(_ place: ServicePlace, _ status: StatusSummary?) -> Finding {
    let store = place.paths.store
    if let status {
      return Finding(
        part: "database", state: "good", detail: "\(status.database), \(ServiceWords.size(status.databaseBytes))")
    }
    // The nearest path that is there says whether it could be made.
    var folder = store
    var facts = stat()
    while stat(folder, &facts) != 0, folder != "/", let above = folder.parentFolder {
      folder = above
    }
    guard facts.st_mode & S_IFMT == S_IFDIR else {
      return Finding(
        part: "database", state: "bad", detail: "\(folder) isn't a folder; remove it, or choose another --state")
    }
    guard access(folder, R_OK | W_OK | X_OK) == 0 else {
      return Finding(
        part: "database", state: "bad",
        detail: "\(folder) can't be used by this user: \(SystemCallError.message(errno)); choose another --state")
    }
    var volume = statvfs()
    let free = statvfs(folder, &volume) == 0 ? Int64(clamping: UInt64(volume.f_bavail) * UInt64(volume.f_frsize)) : 0
    return Finding(
      part: "database", state: folder == store ? "good" : "absent",
      detail: "\(store), \(ServiceWords.size(free)) free")
  }

  private static var units: Finding {
    let installed = (try? ServiceUnits.directory()).map(ServiceUnits.installed) ?? []
    guard !installed.isEmpty else {
      return Finding(
        part: "units", state: "absent",
        detail: "without 'outrider service install' periodic wakes happen only while a command's service runs")
    }
    let paths = installed.joined(separator: ", ")
    let state = Systemctl.run("is-active", ServiceUnits.service)?.text
    return Finding(
      part: "units", state: state == "failed" ? "bad" : "good", detail: state.map { "\(paths): \($0)" } ?? paths)
  }

  /// What a service with many clients and downloads has open.
  private static let wantedFiles: UInt64 = 4096

  private static var openFiles: Finding {
    let hard = OpenFiles.hardLimit
    return Finding(
      part: "open files", state: hard >= wantedFiles ? "good" : "bad",
      detail: "\(hard) may be open at once (ulimit -Hn); \(wantedFiles) are enough")
  }
}

extension OpenFiles {
  /// RLIMIT_NOFILE, which the service raises its own limit to.
  static var hardLimit: UInt64 {
    var limits = rlimit()
    return getrlimit(__rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue)), &limits) == 0 ? UInt64(limits.rlim_max) : 0
  }
}
