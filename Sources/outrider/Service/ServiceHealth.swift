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
    var health = Self(findings: [program, socket(place)])
    do {
      let report = try await ServiceReport.read(place)
      health.findings.append(process(report))
      health.findings.append(database(place, report))
      health.findings.append(units(report))
    } catch {
      health.findings.append(Finding(part: "process", state: "bad", detail: text(error)))
    }
    health.findings.append(openFiles)
    return health
  }

  private static func text(_ error: any Error) -> String { (error as? Failure)?.message ?? "\(error)" }

  private static var program: Finding {
    do { return Finding(part: "program", state: "good", detail: try ServicePlace.program()) } catch {
      return Finding(part: "program", state: "bad", detail: text(error))
    }
  }

  private static func socket(_ place: ServicePlace) -> Finding {
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
    return Finding(part: "socket", state: Files.exists(path) ? "good" : "absent", detail: path)
  }

  private static func process(_ report: ServiceReport) -> Finding {
    guard let status = report.status else {
      return Finding(part: "process", state: "absent", detail: "any command that needs the service starts it")
    }
    let memory = ServiceWords.size(status.memoryBytes)
    return Finding(
      part: "process", state: "good",
      detail: "process \(status.process), \(memory), \(status.apps) apps, \(status.downloads) downloads")
  }

  private static func database(_ place: ServicePlace, _ report: ServiceReport) -> Finding {
    let store = place.paths.store
    if let status = report.status {
      return Finding(
        part: "database", state: "good", detail: "\(status.database), \(ServiceWords.size(status.databaseBytes))")
    }
    // The nearest folder that is there says whether it could be made.
    var folder = store
    while !Files.exists(folder), let slash = folder.lastIndex(of: "/"), slash != folder.startIndex {
      folder = String(folder[..<slash])
    }
    guard access(folder, W_OK | X_OK) == 0 else {
      return Finding(
        part: "database", state: "bad", detail: "\(folder) can't be written: \(SystemCallError.message(errno))")
    }
    var volume = statvfs()
    let free = statvfs(folder, &volume) == 0 ? Int64(clamping: UInt64(volume.f_bavail) * UInt64(volume.f_frsize)) : 0
    return Finding(
      part: "database", state: folder == store ? "good" : "absent",
      detail: "\(store), \(ServiceWords.size(free)) free")
  }

  private static func units(_ report: ServiceReport) -> Finding {
    guard !report.units.isEmpty else {
      return Finding(
        part: "units", state: "absent",
        detail: "without 'outrider service install' periodic wakes happen only while a command's service runs")
    }
    let paths = report.units.joined(separator: ", ")
    return Finding(
      part: "units", state: report.unitState == "failed" ? "bad" : "good",
      detail: report.unitState.map { "\(paths): \($0)" } ?? paths)
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
