import Foundation
import LinuxSystem
import Sandbox
import TestSupport
import Testing

/// Machines whose kernel lacks a system call, or whose container refuses it: what hangs on the call is said to be missing, and
/// nothing runs where nothing would be kept from a plugin.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct RefusedCallTests {
  /// Runs a program whose system calls of some numbers fail with an error.
  private static let source = """
    #include <linux/filter.h>
    #include <linux/seccomp.h>
    #include <stddef.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/prctl.h>
    #include <unistd.h>
    int main(int count, char **words) {
      struct sock_filter filter[64] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
      unsigned short length = 1;
      for (char *number = strtok(words[1], ","); number && length < 60; number = strtok(0, ",")) {
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, atoi(number), 0, 1);
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | atoi(words[2]));
      }
      filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
      struct sock_fprog program = {length, filter};
      if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 99;
      execv(words[3], words + 3);
      return 98;
    }
    """

  private final class Machine: Sendable {
    let folder: String
    private let numbers: [Int32]
    private let code: Int32

    init(refusing numbers: [Int32], with code: Int32) throws {
      folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-refused-")
      (self.numbers, self.code) = (numbers, code)
      try RefusedCallTests.source.write(toFile: "\(folder)/refuse.c", atomically: true, encoding: .utf8)
      let made = try Workspace.run(["-Wall", "-o", "\(folder)/refuse", "\(folder)/refuse.c"], program: "/usr/bin/cc")
      try #require(made.status == 0, "\(made.errors)")
    }

    deinit { Files.removeTree(folder) }

    /// `confined`: as root of a user namespace in which no other can be made.
    func run(_ arguments: [String], confined: Bool = false) throws -> Workspace.Finished {
      let command = [
        "\(folder)/refuse", numbers.map { "\($0)" }.joined(separator: ","), "\(code)", Workspace.outrider,
      ]
      guard confined else { return try Workspace.run(Array(command[1...]) + arguments, program: command[0]) }
      let script = #"echo 0 >/proc/sys/user/max_user_namespaces && exec "$@""#
      return try Workspace.run(
        ["--user", "--map-root-user", "sh", "-c", script, "sh"] + command + arguments, program: "/usr/bin/unshare")
    }

    func policy(_ text: String) throws -> String {
      try "version: 2\n\(text)\n".write(toFile: "\(folder)/p.yaml", atomically: true, encoding: .utf8)
      return "\(folder)/p.yaml"
    }
  }

  private static let call = ["call", "libc.so.6", "abs", "i32(i32)", "-5"]
  /// Of x86-64 and arm64 (asm-generic/unistd.h).
  private static let landlock: [Int32] = [444, 445, 446]

  /// A kernel without Landlock, and one that was started without it (lsm=).
  @Test(arguments: [ENOSYS, EOPNOTSUPP]) func landlockThatIsntThereIsAbsent(code: Int32) throws {
    let machine = try Machine(refusing: Self.landlock, with: code)
    let finished = try machine.run(Self.call + ["--json"])
    #expect(finished.status == 0, "\(finished.errors)")
    let object = try #require(try JSONSerialization.jsonObject(with: Data(finished.output.utf8)) as? [String: Any])
    let walls = try #require(object["sandbox"] as? [String: [String: String]])
    #expect(walls["landlock"]?["state"] == "absent" && object["result"] as? Int == 5, "\(finished.output)")
    let required = try machine.run(Self.call + ["--policy", machine.policy("require: [landlock]")])
    #expect(required.status == 69 && required.errors.contains("landlock"), "\(required.errors)")
    let listed = try machine.run(Self.call + ["--policy", machine.policy("files: {list: [/usr/share]}")])
    #expect(listed.status == 64 && listed.errors.contains("needs Landlock"), "\(listed.errors)")
  }

  /// Neither a user namespace nor Landlock; or a kernel of before 5.12, without mount_setattr(2).
  @Test(arguments: [ENOSYS, EOPNOTSUPP], [true, false])
  func nothingRunsWhereNothingHidesOrGuardsFiles(code: Int32, isConfined: Bool) throws {
    let machine = try Machine(refusing: Self.landlock + (isConfined ? [] : [442]), with: code)
    let finished = try machine.run(Self.call, confined: isConfined)
    #expect(finished.status == 69 && finished.output.isEmpty, "\(finished)")
    #expect(finished.errors.contains("nothing keeps a plugin from the files of the user"), "\(finished.errors)")
  }

  #if arch(x86_64)
    @Test(arguments: [EPERM, ENOSYS]) func nothingRunsWithoutAFilter(code: Int32) throws {
      let finished = try Machine(refusing: [317], with: code).run(Self.call)
      #expect(finished.status == 69 && finished.output.isEmpty, "\(finished)")
      #expect(finished.errors.contains("seccomp(2) is refused"), "\(finished.errors)")
    }

    /// What was built of a root before that lies over the machine's folders.
    @Test(arguments: [EPERM, EINVAL]) func aRootThatCantBeEnteredLeavesNothing(code: Int32) throws {
      let finished = try Machine(refusing: [155], with: code).run(Self.call)
      #expect(finished.status == 0 && finished.output == "5\n", "\(finished)")
      #expect(finished.errors.contains("wall mountNamespace is absent: mount: pivot_root"), "\(finished.errors)")
      #expect(!finished.errors.contains("wall rlimits"), "\(finished.errors)")
    }

    /// What was never tried isn't said to be missing.
    @Test func limitsThatAreRefusedAreNamed() throws {
      let finished = try Machine(refusing: [160, 302], with: EPERM).run(Self.call)
      #expect(finished.status == 69 && finished.output.isEmpty, "\(finished)")
      #expect(finished.errors.contains("RLIMIT_"), "\(finished.errors)")
      for wall in [Wall.rlimits, .seccomp, .watchdog] {
        #expect(!finished.errors.contains("wall \(wall.rawValue) is absent"), "\(finished.errors)")
      }
    }

    /// Whatever is remembered of a time when everything could be tried.
    @Test func doctorCallsNoWallWholeThatCouldntBeTried() throws {
      #expect(try Workspace.run(Self.call).status == 0)
      let finished = try Machine(refusing: [160, 302], with: EPERM).run(["doctor", "--json"])
      #expect(finished.status == 69 && !finished.output.contains("says what this machine has"), "\(finished)")
      let object = try #require(try JSONSerialization.jsonObject(with: Data(finished.output.utf8)) as? [String: Any])
      let walls = try #require(object["sandbox"] as? [String: [String: String]])
      for wall in [Wall.rlimits, .seccomp, .watchdog] {
        #expect(walls[wall.rawValue]?["state"] == "partial", "\(walls)")
      }
    }

    /// pidfd_open(2) and memfd_create(2).
    @Test(arguments: [Int32(434), 319], [EPERM, ENOSYS])
    func aCallThatEveryRunTakesIsToldWithWhatHelps(number: Int32, code: Int32) throws {
      let finished = try Machine(refusing: [number], with: code).run(Self.call)
      let kernel = number == 434 ? "Linux 5.3" : "Linux 3.17"
      #expect(finished.status == 70 && finished.errors.contains("(\(kernel) has the call)"), "\(finished)")
    }
  #endif
}
