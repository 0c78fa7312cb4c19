import Foundation
import TestSupport
import Testing

/// What becomes of results, logs and messages where a terminal is hostile, a disk is full or no reader is there.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct OutputTests {
  private static let abs = "call libc.so.6 abs 'i32(i32)' -5"

  /// Through a shell, for its redirections. `$O` is the command.
  private static func shell(_ script: String) throws -> Workspace.Finished {
    try Workspace.run(["-c", "O='\(Workspace.outrider)'; \(script)"], program: "/bin/bash")
  }

  @Test(arguments: [">/dev/full", ">&-", "--json >/dev/full"])
  func saysThatAResultWasLost(_ redirection: String) throws {
    let finished = try Self.shell("$O \(Self.abs) \(redirection)")
    #expect(finished.status == 74)
    #expect(finished.errors.contains("write standard output"), "\(finished.errors)")
  }

  @Test("where more is denied than advice is shown for, it is said how to have the rest") func saysThatAdviceWasCut()
    throws
  {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for (count, words) in [
      (8, nil), (9, "… what helps with 1 other isn't shown"), (11, "… what helps with 3 others isn't"),
    ] as [(Int, String?)] {
      let files = "\(folder)/files\(count)"
      try FileManager.default.createDirectory(atPath: files, withIntermediateDirectories: false)
      for number in 0..<count { try "x".write(toFile: "\(files)/f\(number)", atomically: true, encoding: .utf8) }
      try LibraryTests.compile(
        """
        #include <fcntl.h>
        #include <stdio.h>
        int ask(void) {
          char name[4096];
          for (int i = 0; i < \(count); i++) { snprintf(name, sizeof name, "\(files)/f%d", i); open(name, O_RDONLY); }
          return 0;
        }
        """, "-o ask\(count).so", in: folder)
      let end = try Workspace.run(["call", "\(folder)/ask\(count).so", "ask", "i32()", "--observe"])
      let advice = end.errors.split(separator: "\n").filter { $0.contains("policy: files: {read: [") }
      #expect(advice.count == 8, "\(end.errors)")
      #expect(end.errors.contains(words ?? "denied by files") && end.errors.contains("… what helps") == (words != nil))
    }
  }

  @Test("help, a version and a script for completion that a full disk doesn't take end with a status of their own")
  func saysThatHelpWasLost() throws {
    for words in ["--help", "help fetch", "fetch --help", "--version", "--generate-completion-script bash"] {
      let finished = try Self.shell("$O \(words) >/dev/full")
      #expect(finished.status == 74 && finished.errors.contains("write standard output"), "\(words): \(finished)")
      // As the parser would have printed it.
      #expect(try Self.shell("$O \(words)").output.hasSuffix("\n"))
    }
  }

  /// A chunk list that a full disk has cut would be believed, and a wait that isn't read explains nothing.
  @Test(arguments: [">/dev/full", ">&-"])
  func saysThatAListOrAReasonWasLost(_ redirection: String) throws {
    let script = """
      D=$(mktemp -d); trap 'rm -rf "$D"' EXIT; mkdir "$D/to"
      $O fetch http://127.0.0.1:1/x --to "$D/to" --state "$D/state" 2>"$D/log" & P=$!
      until grep -q 'waits for' "$D/log"; do kill -0 $P || exit 1; done
      kill $P; wait $P
      for words in "digest $O" "explain 1 --state $D/state" "explain 1 --json --state $D/state"; do
        $O $words \(redirection); echo "status $?" >&2
      done
      """
    let errors = try Self.shell(script).errors
    #expect(errors.split(separator: "\n").filter { $0.hasPrefix("status") } == Array(repeating: "status 74", count: 3))
    #expect(errors.contains("write standard output"), "\(errors)")
  }

  @Test("a result goes into a device or a pipe, and replaces a file behind a link or as it stands")
  func namedOutputs() throws {
    let script = """
      D=$(mktemp -d); trap 'rm -rf "$D"' EXIT; cd "$D"
      record() { $O policy record --output "$1" call libc.so.6 abs 'i32(i32)' -5 >/dev/null 2>errors; echo "$1 $?"; }
      mkfifo pipe; cat pipe >read & record pipe; wait; grep -c '^version' read; [ -p pipe ] && echo a pipe
      ln -s target link; record link; chmod 640 target; record link; stat -c %a target; [ -L link ] && grep -c '^version' target
      record nowhere/policy; grep -o 'there is no folder [^;]*' errors | sed "s#$D/##"
      mkdir folder; record folder; cat errors >&2; ls | tr '\n' ' '
      """
    let finished = try Self.shell(script)
    #expect(
      finished.output == """
        pipe 0
        1
        a pipe
        link 0
        link 0
        640
        1
        nowhere/policy 73
        there is no folder nowhere
        folder 73
        errors folder link pipe read target 
        """, "\(finished.errors)")
    #expect(finished.errors.contains("--output folder: is a folder; name a file in it"))
  }

  @Test("a policy that is there already is kept where nothing was recorded")
  func keepsAPolicy() throws {
    let script = """
      D=$(mktemp -d); trap 'rm -rf "$D"' EXIT; cd "$D"; echo mine >policy.yaml
      $O policy record --output policy.yaml call libc.so.6 no_such_function 'i32()'; echo $?; cat policy.yaml
      """
    let finished = try Self.shell(script)
    #expect(finished.output == "18\nmine\n")
    #expect(finished.errors.contains("policy.yaml: not written, since"), "\(finished.errors)")
  }

  @Test("what the rounds found is written, or printed where it can't be")
  func keepsWhatWasFound() throws {
    let script = """
      D=$(mktemp -d); trap 'rm -rf "$D"' EXIT; cd "$D"; echo mine >policy.yaml
      record() { $O policy record "$@" call libc.so.6 open 'i32(cstring,i32)' /etc/hostname 0; echo $?; }
      record --rounds 1 --output policy.yaml; grep -c /etc/hostname policy.yaml; ls
      record --output /dev/full | grep -c '^  - /etc/hostname\\|^73'
      """
    let finished = try Self.shell(script)
    #expect(finished.output == "1\n2\npolicy.yaml\n2\n", "\(finished)")
    #expect(finished.errors.contains("the policy grants one path") && !finished.errors.contains("not written"))
    #expect(finished.errors.contains("can't be written: No space left on device; standard output has the policy"))
  }

  @Test("a pipe is read, and one that no program writes to is waited for no longer than two seconds")
  func pipesAsInput() throws {
    let script = """
      D=$(mktemp -d); trap 'rm -rf "$D"' EXIT; cd "$D"; mkfifo pipe
      $O policy check <(echo 'version: 2'); echo $?
      (sleep 0.2; echo 'version: 2' >pipe) & $O policy check pipe; echo $?; wait
      $O policy check pipe; echo $?
      printf 'version: 2\nextends: ./pipe\n' >child.yaml; $O policy check child.yaml; echo $?
      $O call --policy comptation libc.so.6 abs 'i32(i32)' -5; echo $?
      """
    let finished = try Self.shell(script)
    let statuses = finished.output.split(separator: "\n").filter { Int32($0) != nil }
    #expect(statuses == ["0", "0", "66", "64", "66"], "\(finished.output)\(finished.errors)")
    #expect(finished.errors.contains("comptation: is neither a file here nor a shipped policy (downloader, "))
  }

  @Test(arguments: ["2>/dev/full", "2>&-"])
  func needsNobodyToHearItsErrors(_ redirection: String) throws {
    #expect(try Self.shell("$O \(Self.abs) \(redirection)").output == "5\n")
    #expect(try Self.shell("$O call libc.so.6 sleep 'u32(u32)' 30 --wall 50ms \(redirection)").status == 12)
    #expect(try Self.shell("$O call --nonsense \(redirection)").status == 64)
  }

  /// Others may have made the pipe non-blocking; its reader takes its time.
  @Test func writesAllOfItToASlowReader() throws {
    let script = """
      import fcntl, os, subprocess, sys, time
      reader, writer = os.pipe()
      fcntl.fcntl(writer, fcntl.F_SETFL, os.O_NONBLOCK)
      command = subprocess.Popen(
        [sys.argv[1], 'call', 'libc.so.6', 'memset', 'pointer(out(200000),i32,u64)', '1', '200000', '--json'],
        stdout=writer, stderr=subprocess.DEVNULL)
      os.close(writer)
      command_is_stuck_at = 65536
      while fcntl.ioctl(reader, 0x541B, b'    ') < int(command_is_stuck_at).to_bytes(4, 'little') and command.poll() is None:
        time.sleep(0.01)
      text = b''
      while part := os.read(reader, 4096): text += part
      import json
      print(len(json.loads(text)['out'][0]), command.wait())
      """
    let finished = try Workspace.run(["-c", script, Workspace.outrider], program: "/usr/bin/python3")
    #expect(finished.output == "400000 0\n", "\(finished.errors)")
  }

  @Test func escapesWhatATerminalWouldObey() throws {
    let text = "a\u{1b}[31m\u{9b}31m\u{7f}\u{202e}é\u{1f600}"
    let finished = try Workspace.run(["call", "libc.so.6", "strdup", "cstring(cstring)", text, "--json"])
    #expect(
      !finished.output.unicodeScalars.contains { $0 != "\n" && ($0.value < 0x20 || (0x7f...0x9f).contains($0.value)) })
    #expect(!finished.output.unicodeScalars.contains("\u{202e}"))
    let object = try #require(try JSONSerialization.jsonObject(with: Data(finished.output.utf8)) as? [String: Any])
    #expect(object["result"] as? String == text)
    let refused = try Workspace.run(["run", "x.so", "--request", "\u{1b}[31m", "--manifest", "m"])
    #expect(refused.status == 64)
    #expect(!refused.errors.unicodeScalars.contains("\u{1b}"))
  }

  @Test func saysThatAStringIsCut() throws {
    let call = ["call", "libc.so.6", "memset", "cstring(out(70000),i32,u64)", "65"]
    let cut = try Workspace.run(call + ["65536"])
    #expect(cut.output.hasPrefix(String(repeating: "A", count: 65536) + "\n") && cut.errors.contains("is cut"))
    let object = try JSONSerialization.jsonObject(
      with: Data(try Workspace.run(call + ["65536", "--json"]).output.utf8))
    #expect((object as? [String: Any])?["resultIsCut"] as? Bool == true)
    let whole = try Workspace.run(call + ["65535"])
    #expect(whole.output.hasPrefix(String(repeating: "A", count: 65535) + "\n") && !whole.errors.contains("is cut"))
  }

  @Test func reportsWhatIsPrinted() throws {
    let finished = try Workspace.run(["call", Workspace.hostile + "/libhostile.so", "h120_prints", "i32()", "--json"])
    #expect(finished.output.contains("half a line"), "\(finished.output)")
  }

  @Test func reportsTheStatusOfAnEntryPoint() throws {
    let manifest = try Workspace.temporaryFile("{}")
    defer { try? FileManager.default.removeItem(atPath: manifest) }
    let words = [
      "run", Workspace.hostile + "/requests/status.so", "--request", "install", "--manifest", manifest,
    ]
    #expect(try Workspace.run(words).errors.contains("content_request returned status -77"))
    let object = try JSONSerialization.jsonObject(with: Data(try Workspace.run(words + ["--json"]).output.utf8))
    let statuses = (object as? [String: Any])?["statuses"] as? [[String: Any]]
    #expect(statuses?.first?["status"] as? Int == -77)
    #expect(statuses?.first?["entryPoint"] as? String == "content_request")
  }

  @Test(arguments: [
    ("0x+5", "u64"), ("hex:+1+2", "bytes"), ("hex:1", "bytes"), ("hex:zz", "bytes"),
  ])
  func refusesNumbersWithSigns(_ word: String, _ type: String) throws {
    #expect(try Workspace.run(["call", "libc.so.6", "abs", "i32(\(type))", word]).status == 64)
  }

  @Test func passesWhatLooksLikeAnOption() throws {
    let finished = try Workspace.run(["call", "libc.so.6", "strlen", "u64(cstring)", "--", "--wall"])
    #expect(finished.output == "6\n", "\(finished.errors)")
  }
}
