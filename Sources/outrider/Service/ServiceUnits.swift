internal import Basics
internal import Foundation
internal import LinuxSystem
internal import ServiceProtocol

/// The units of systemd for one user's service (systemd.service(5), systemd.socket(5)).
struct ServiceUnits: Sendable {
  static let service = "outrider.service"
  static let socket = "outrider.socket"

  var place: ServicePlace
  /// The service's program, absolute.
  var program: String

  /// Where a user's own units lie.
  static func directory(_ environment: [String: String] = ProcessInfo.processInfo.environment) throws -> String {
    if let configuration = environment["XDG_CONFIG_HOME"], configuration.isAbsolutePath {
      return "\(configuration)/systemd/user"
    }
    guard let home = environment["HOME"], home.isAbsolutePath else {
      throw Failure(
        64, "neither XDG_CONFIG_HOME nor HOME is an absolute path: there is no place for units; set one of them")
    }
    return "\(home)/.config/systemd/user"
  }

  var files: [(name: String, content: String)] {
    [(Self.socket, socketUnit), (Self.service, serviceUnit)]
  }

  /// systemd makes the folder and keeps the socket while the service is upgraded: clients that connect meanwhile wait.
  var socketUnit: String {
    // %t is XDG_RUNTIME_DIR of the user manager.
    let path = place.state == nil ? "%t/outrider/\(ServicePaths.socketName)" : Self.escaped(place.paths.socket)
    return """
      [Unit]
      Description=Socket of Outrider, background asset delivery
      Documentation=man:outrider-service(1) man:systemd.socket(5)

      [Socket]
      ListenStream=\(path)
      SocketMode=0600
      DirectoryMode=0700
      Backlog=128

      [Install]
      WantedBy=sockets.target

      """
  }

  /// What isn't set is as telling as what is: the service walls its plugins in by user, mount, PID and network namespaces, a
  /// seccomp listener and memory cgroups of their own. RestrictNamespaces, ProtectSystem, ProtectProc, PrivateTmp, PrivateUsers
  /// and the like would take those away or lock the mounts that they change; MemoryDenyWriteExecute breaks libffi's closures;
  /// RestrictSUIDSGID answers openat2(2) with ENOSYS, by which files are opened without following links; SystemCallFilter would
  /// be inherited by plugins whose own filter knows better.
  var serviceUnit: String {
    let words =
      [program] + (place.state.map { ["--state", $0] } ?? []) + (place.isDevelopment ? ["--development"] : [])
    return """
      [Unit]
      Description=Outrider, background asset delivery
      Documentation=man:outriderd(8) man:outrider-service(1) man:systemd.service(5)
      Requires=\(Self.socket)
      After=\(Self.socket)
      StartLimitIntervalSec=60
      StartLimitBurst=5

      [Service]
      Type=notify
      NotifyAccess=main
      ExecStart=\(words.map(Self.quoted).joined(separator: " "))
      Restart=on-failure
      RestartSec=1
      # Ends at a checkpoint; what is left after that is plugins.
      KillMode=mixed
      TimeoutStartSec=90
      TimeoutStopSec=30
      # A plugin that exceeds its memory is killed alone.
      OOMPolicy=continue
      # Each run has a cgroup below this one; the service itself moves out of their way (systemd 254).
      Delegate=memory pids cpu
      DelegateSubgroup=service
      # No core dumps: they would hold credentials of downloads.
      LimitCORE=0
      LimitNOFILE=65536
      UMask=0077
      NoNewPrivileges=yes
      LockPersonality=yes
      RestrictRealtime=yes
      SystemCallArchitectures=native
      RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK

      [Install]
      WantedBy=default.target
      Also=\(Self.socket)

      """
  }

  /// Specifiers of systemd.unit(5) count everywhere.
  private static func escaped(_ text: String) -> String { text.replacingOccurrences(of: "%", with: "%%") }

  /// A word of a command line (systemd.service(5), Command Lines).
  static func quoted(_ word: String) -> String {
    var text = ""
    for scalar in escaped(word).unicodeScalars {
      switch scalar {
      case "\\", "\"": text += "\\\(scalar)"
      case "$": text += "$$"
      case "\n": text += "\\n"
      case "\t": text += "\\t"
      default: text.unicodeScalars.append(scalar)
      }
    }
    let isPlain = text.utf8.allSatisfy { isalnum(Int32($0)) != 0 && $0 < 0x80 || "/._-+=:@%".utf8.contains($0) }
    return isPlain && !text.isEmpty ? text : "\"\(text)\""
  }

  // MARK: Files

  func write(to directory: String) throws {
    do {
      try Files.makeDirectories(directory, mode: 0o755)
      for (name, content) in files {
        try Data(content.utf8).write(to: URL(fileURLWithPath: "\(directory)/\(name)"), options: .atomic)
      }
    } catch {
      throw Failure(73, "the units can't be written to \(directory): \(error); XDG_CONFIG_HOME names another folder")
    }
  }

  /// Those that were there.
  static func remove(from directory: String) throws -> [String] {
    var removed: [String] = []
    for name in [service, socket] {
      let path = "\(directory)/\(name)"
      if unlink(path) == 0 {
        removed.append(path)
      } else if errno != ENOENT {
        throw Failure(73, "\(path) can't be removed: \(SystemCallError.message(errno))")
      }
    }
    return removed
  }

  static func installed(in directory: String) -> [String] {
    [socket, service].map { "\(directory)/\($0)" }.filter { Files.exists($0) }
  }
}

/// `systemctl --user`, where there is one.
enum Systemctl {
  struct Result: Sendable {
    var status: Int32
    var text: String
  }

  /// nil: there is no systemd, or it has no manager for this user.
  static func run(_ arguments: String...) -> Result? {
    guard let program = program else { return nil }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = ["--user"] + arguments
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    process.standardInput = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return nil }
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return Result(
      status: process.terminationStatus,
      text: String(decoding: data.prefix(4096), as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
  }

  /// sd_booted(3).
  private static var program: String? {
    guard Files.exists("/run/systemd/system") else { return nil }
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
    return folders.map { "\($0)/systemctl" }.first { access($0, X_OK) == 0 }
  }
}
