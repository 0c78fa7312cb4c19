internal import CLinux
internal import Foundation
internal import Glibc
internal import HostProtocol
internal import LinuxSystem
internal import Sandbox
internal import Synchronization

/// Remembers that every limit was seen to bite, until something changes that it depends on: the boot, the kernel, the
/// user, the runner's executable, what it was given. A run of the command line then doesn't pay for the canary.
struct LimitProof {
  private struct Record: Codable {
    var key: String
    var findings: [Canary.Finding]
  }

  private let key: String
  private let folder: String

  init(key: String, folder: String) {
    self.key = key
    self.folder = folder
  }

  /// nil where there is no folder that belongs to this user alone.
  init?(machine: Machine, cgroup: WallState, runner: String) {
    guard let boot = BootIdentifier.current, let folder = Self.folder() else {
      return nil
    }
    let programs = [runner, "/proc/self/exe"].map { path in (try? Files.identity(of: path)).map { "\($0)" } ?? "" }
    key =
      "\([boot, "\(geteuid())", cgroup.detail, "\(machine.landlockABI) \(machine.hasListener) \(machine.hello)"] + programs)"
    self.folder = folder
  }

  func read() -> [Canary.Finding]? {
    guard let file = try? OwnedDescriptor.open(folder + "/limits", O_RDONLY | O_NOFOLLOW),
      let bytes = try? file.readAll(limit: 65536),
      let record = try? JSONDecoder().decode(Record.self, from: Data(bytes)), record.key == key
    else { return nil }
    return record.findings
  }

  /// Only what is in force is remembered: anything else is tried again by the next host.
  func write(_ findings: [Canary.Finding]) {
    guard findings.allSatisfy(\.isInForce), let data = try? JSONEncoder().encode(Record(key: key, findings: findings))
    else { return }
    sweep()
    // Whole or not at all: several hosts may write.
    let path = "\(folder)/limits-\(getpid())"
    let isWritten = (try? data.write(to: URL(fileURLWithPath: path))) != nil
    if !isWritten || rename(path, folder + "/limits") != 0 { unlink(path) }
  }

  /// Removes what hosts left that were killed while they wrote. One that writes just now loses its own, and nothing by it:
  /// what this one writes says the same.
  private func sweep() {
    for name in (try? Files.names(in: folder, atMost: .max, beginning: "limits-")) ?? [] { unlink("\(folder)/\(name)") }
  }

  private static func folder() -> String? {
    let runtime = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) } ?? (geteuid() == 0 ? "/run" : "")
    for path in [runtime.isEmpty ? nil : runtime + "/outrider", "/tmp/outrider-\(geteuid())"].compactMap({ $0 }) {
      mkdir(path, 0o700)
      var status = stat()
      if lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(),
        status.st_mode & 0o077 == 0
      {
        return path
      }
    }
    return nil
  }
}

extension HostCore {
  /// What the canary found, once for each host and not at all where it is remembered. Throws where there is no fork
  /// server to try anything with; the next caller tries again. `preload`: which server is needed anyway.
  func proof(_ preload: Preload) async throws(HostError) -> [Canary.Finding] {
    let task = proving.withLock { current in
      if let current { return current }
      let task = Task { await prove(preload) }
      current = task
      return task
    }
    let result = await task.value
    if case .failure = result { proving.withLock { if $0 == task { $0 = nil } } }
    return try result.get()
  }

  private func prove(_ preload: Preload) async -> Result<[Canary.Finding], HostError> {
    let found = await onLoop { core in
      Result { () throws(HostError) -> LimitProof? in
        let pool = core.pool
        let machine = try pool.standingServer(preload).machine
        // Without walls around its files a plugin of this user could write what is remembered.
        guard core.untested.isEmpty, pool.settings.withoutNamespaces.isEmpty,
          machine.hidesFiles || machine.landlockABI > 0
        else { return nil }
        return LimitProof(machine: machine, cgroup: core.cgroups.state, runner: pool.settings.runner)
      }
    }
    let store: LimitProof?
    do throws(HostError) { store = try found.get() } catch { return .failure(error) }
    if let known = store?.read() { return .success(known) }
    let findings = await Canary(core: self, preload: preload, open: untested).run()
    store?.write(findings)
    return .success(findings)
  }
}
