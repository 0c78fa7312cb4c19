import Foundation
import LinuxSystem
import PluginHost
import Sandbox
import TestSupport
import Testing

/// Machines that lack something: the run goes on with the walls that are left, says which aren't, and fails closed where
/// a policy requires one of those.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct MachineTests {
  /// As root of a user namespace in which no other can be made, as in many containers.
  private static func confined(_ arguments: [String]) throws -> Workspace.Finished {
    let script = #"echo 0 >/proc/sys/user/max_user_namespaces && exec "$@""#
    return try Workspace.run(
      ["--user", "--map-root-user", "sh", "-c", script, "sh", Workspace.outrider] + arguments,
      program: "/usr/bin/unshare")
  }

  private static let namespaces: [Wall] = [
    .userNamespace, .mountNamespace, .pidNamespace, .networkNamespace, .ipcNamespace, .utsNamespace,
  ]

  @Test func worksWithoutUserNamespaces() throws {
    let finished = try Self.confined(["call", "libc.so.6", "abs", "i32(i32)", "-5", "--json"])
    #expect(finished.status == 0, "\(finished.errors)")
    let object = try #require(try JSONSerialization.jsonObject(with: Data(finished.output.utf8)) as? [String: Any])
    #expect(object["result"] as? Int == 5)
    let walls = try #require(object["sandbox"] as? [String: [String: String]])
    for wall in Self.namespaces {
      #expect(walls[wall.rawValue]?["state"] == "absent")
      #expect(walls[wall.rawValue]?["detail"]?.isEmpty == false)
    }
    for wall in [Wall.landlock, .seccomp, .rlimits, .watchdog] {
      #expect(walls[wall.rawValue]?["state"] == "full", "\(wall)")
    }
  }

  @Test func whatIsLeftStillBites() throws {
    let late = try Self.confined(["call", "libc.so.6", "sleep", "u32(u32)", "30", "--wall", "200ms"])
    #expect(late.status == 12, "\(late.errors)")
    // What Landlock alone keeps: a file that everyone may read.
    let read = try Self.confined(["call", "libc.so.6", "open", "i32(cstring,i32)", "/etc/passwd", "0"])
    #expect(read.output.hasPrefix("-1"), "\(read.output)")
    // Its own library's folder isn't its own.
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-test-")
    defer { Files.removeTree(folder) }
    try LibraryTests.compile(
      "#include <fcntl.h>\nint opens(const char *path) { return open(path, O_RDONLY); }", "-o l.so", in: folder)
    try "secret".write(toFile: "\(folder)/beside", atomically: true, encoding: .utf8)
    for (path, isRead) in [("\(folder)/l.so", true), ("\(folder)/beside", false), (folder, false)] {
      let opened = try Self.confined(["call", "\(folder)/l.so", "opens", "i32(cstring)", path, "--observe"])
      #expect(opened.status == 0 && opened.output.hasPrefix("-1") != isRead, "\(path): \(opened)")
      #expect(opened.errors.contains("denied by files") != isRead, "\(path): \(opened)")
    }
    let doctor = try Self.confined(["doctor"])
    #expect(doctor.status == 0, "\(doctor.output)")
    #expect(doctor.output.contains("'sysctl user.max_user_namespaces=10000'"), "\(doctor.output)")
  }

  @Test func failsClosedWithoutUserNamespaces() throws {
    let policy = try Workspace.temporaryFile("version: 1\nrequire: [mountNamespace]\n", suffix: ".yaml")
    defer { try? FileManager.default.removeItem(atPath: policy) }
    let finished = try Self.confined(["call", "libc.so.6", "abs", "i32(i32)", "-5", "--policy", policy])
    #expect(finished.status == 69, "\(finished.errors)")
    #expect(finished.errors.contains("mountNamespace"))
  }

  /// A runner may not be debugged, and where /proc hides such processes its host sees nothing of it.
  @Test(.asRoot, arguments: [1, 2]) func worksWhereProcessesAreHidden(from level: Int) throws {
    let script = """
      mount -t proc -o hidepid=\(level) proc /proc || exit 99
      for run in 1 2 3 4 5 6; do
        setpriv --reuid 65534 --regid 65534 --clear-groups "$0" call libc.so.6 abs 'i32(i32)' -5 || exit
      done
      """
    let finished = try Workspace.run(["-pfm", "sh", "-c", script, Workspace.outrider], program: "/usr/bin/unshare")
    #expect(finished.status == 0 && finished.output == String(repeating: "5\n", count: 6), "\(finished.errors)")
  }

  /// Of a first thread that has ended the kernel tells no memory, and of the others no host may ask.
  @Test(.asRoot) func whatIsHiddenUsesNoMemoryUnseen() throws {
    let folder = "/tmp/outrider-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let source = """
      #include <pthread.h>
      #include <sys/syscall.h>
      #include <unistd.h>
      static void *other(void *context) { pause(); return context; }
      int leave(void) {
        pthread_t thread;
        pthread_create(&thread, 0, other, 0);
        return syscall(SYS_exit, 0);
      }
      """
    try source.write(toFile: "\(folder)/leave.c", atomically: true, encoding: .utf8)
    let script = """
      cc -shared -fPIC -pthread -o \(folder)/leave.so \(folder)/leave.c && chmod -R a+rX \(folder) &&
      mount -t proc -o hidepid=2 proc /proc &&
      exec setpriv --reuid 65534 --regid 65534 --clear-groups "$0" call \(folder)/leave.so leave 'i32()' --wall 20s
      """
    let finished = try Workspace.run(["-pfm", "sh", "-c", script, Workspace.outrider], program: "/usr/bin/unshare")
    // An ordinary user may have a memory cgroup, which counts whatever is hidden.
    let isCounted = !finished.errors.contains("wall cgroup is absent")
    #expect(finished.status == (isCounted ? 12 : 14), "\(finished.errors)")
  }

  /// The same as the user of the tests: this machine's root, or an ordinary user.
  @Test func worksWithoutThemAsThisUser() async throws {
    let host = try Workspace.host(withoutNamespaces: [.userNamespace])
    let plugin = try await host.load("libc.so.6")
    #expect(try await plugin.call("getuid", "u32()").value == .unsigned(UInt64(geteuid())))
    let read = try await plugin.call("open", "i32(cstring,i32)", "/etc/passwd", 0)
    #expect(read.value == .signed(-1))
    let walls = await plugin.end().walls
    for wall in Self.namespaces { #expect(walls[wall]?.state == .absent) }
    var policy = Policy()
    policy.require = [.userNamespace]
    do {
      _ = try await host.load("libc.so.6", policy: policy)
      Issue.record("a missing wall was silently accepted")
    } catch {
      #expect(error.report?.outcome.kind == .wallUnavailable)
    }
  }

  /// A container's root: ids that it can't map, and namespaces that it can.
  @Test func aContainersRootHasEveryNamespace() throws {
    let finished = try Workspace.run(
      ["--user", "--map-root-user", Workspace.outrider, "call", "libc.so.6", "getuid", "u32()", "--json"],
      program: "/usr/bin/unshare")
    let object = try #require(try JSONSerialization.jsonObject(with: Data(finished.output.utf8)) as? [String: Any])
    #expect(object["result"] as? Int == 1000)
    let walls = try #require(object["sandbox"] as? [String: [String: String]])
    for wall in [Wall.userNamespace, .mountNamespace, .pidNamespace, .networkNamespace] {
      #expect(walls[wall.rawValue]?["state"] == "full", "\(walls[wall.rawValue] ?? [:])")
    }
  }

  /// The file that is to become too long is made under a mask that takes the owner's rights, too.
  @Test func limitsAreTriedUnderAnyMask() throws {
    let runtime = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-test-")
    defer { Files.removeTree(runtime) }
    try FileManager.default.createDirectory(
      atPath: "\(runtime)/outrider", withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    let script = #"umask 777; exec "$0" doctor --json"#
    let finished = try Workspace.run(
      ["-c", script, Workspace.outrider], program: "/bin/sh", environment: ["XDG_RUNTIME_DIR": runtime])
    #expect(finished.status == 0, "\(finished)")
    let object = try #require(try JSONSerialization.jsonObject(with: Data(finished.output.utf8)) as? [String: Any])
    let limits = try #require(object["limits"] as? [[String: Any]])
    let size = try #require(limits.first { $0["limit"] as? String == "file size" })
    #expect(size["wasTried"] as? Bool == true && size["isInForce"] as? Bool == true, "\(size)")
    let walls = try #require(object["sandbox"] as? [String: [String: String]])
    #expect(walls["rlimits"]?["state"] == "full", "\(walls)")
  }

  /// A limit that the canary exceeds without being stopped isn't in force, whatever was configured.
  @Test func aLimitThatDoesntBiteIsAbsent() async throws {
    let host = try Workspace.host(canaryWithout: [.rlimits])
    let walls = try await host.walls()
    #expect(walls[.rlimits]?.state == .absent)
    #expect(walls[.rlimits]?.detail.contains("isn't in force") == true)
    #expect(walls[.seccomp]?.state == .full)
    let plugin = try await host.load("libc.so.6")
    #expect(await plugin.end().walls[.rlimits]?.state == .absent)
    var policy = Policy()
    policy.require = [.rlimits]
    do {
      _ = try await host.load("libc.so.6", policy: policy)
      Issue.record("a limit that doesn't bite was taken for one that does")
    } catch {
      #expect(error.report?.outcome.kind == .wallUnavailable)
    }
  }
}
