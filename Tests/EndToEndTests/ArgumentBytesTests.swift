import TestSupport
import Testing

/// Words of a command line that are no text.
@Suite(.ownThreads, .timeLimit(.minutes(1))) struct ArgumentBytesTests {
  @Test(
    "words that are no text are refused, and nothing is done with what is left of it",
    arguments: [
      (#"call libz.so.1 crc32 'u64(u64,bytes,u32)' 0 $'\xff' 1"#, 6),
      (#"call libc.so.6 strlen 'u64(cstring)' $'\xff'"#, 5),
      (#"policy record --output $'o\xff.yaml' call libc.so.6 abs 'i32(i32)' 1"#, 4), (#"$'\xc0\x80'"#, 1),
    ])
  func refused(_ words: String, position: Int) throws {
    let script = """
      D=$(mktemp -d); trap 'rm -rf "$D"' EXIT; cd "$D"
      '\(Workspace.outrider)' \(words); status=$?; ls; exit $status
      """
    let end = try Workspace.run(["-c", script], program: "/bin/bash")
    #expect(end.status == 64 && end.output.isEmpty, "\(end)")
    #expect(end.errors.hasPrefix("outrider: argument \(position) (") && end.errors.contains("as hex:e9"), "\(end)")
  }

  @Test("with --json the refusal is an object") func json() throws {
    let script = #"'\#(Workspace.outrider)' call --json libc.so.6 strlen 'u64(cstring)' $'\xff'"#
    let end = try Workspace.run(["-c", script], program: "/bin/bash")
    #expect(end.status == 64 && end.output.hasPrefix(#"{"error":{"message":"argument 6 ("#), "\(end)")
  }

  @Test("the service takes no folder whose name is no text") func service() throws {
    let script = """
      D=$(mktemp -d); trap 'rm -rf "$D"' EXIT; cd "$D"
      '\(Workspace.products)/outriderd' --idle-exit 0.1 --state $'s\\xff'; status=$?; ls; exit $status
      """
    let end = try Workspace.run(["-c", script], program: "/bin/bash")
    #expect(end.status == 64 && end.output.isEmpty && end.errors.contains("argument 4 ("), "\(end)")
  }
}
