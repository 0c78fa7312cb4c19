import Foundation
import TestSupport
import Testing

/// Machines whose `/tmp` and `/var/tmp` aren't what a host would like: memory, full, or read-only.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct ScratchTests {
  /// `prepare` runs with memory over both and over the cgroups, in a mount namespace; `library` is `/mnt/plugin.so` there.
  /// The programs may lie in `/tmp` themselves.
  private static func confined(
    _ arguments: [String], library: String = "/etc/passwd", prepare: String = "true", options: String = "size=64m"
  ) throws -> Workspace.Finished {
    let script = """
      for folder in /mnt /sys/fs/cgroup; do mount -t tmpfs none $folder || exit 99; done
      cp "$1" /mnt/plugin.so && mkdir /mnt/products && mount --rbind "$2" /mnt/products && shift 2 || exit 99
      for folder in /tmp /var/tmp; do mount -t tmpfs -o \(options) none $folder || exit 99; done
      \(prepare) && exec "$@"
      """
    let words = ["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", library, Workspace.products]
    return try Workspace.run(
      words + ["/mnt/products/outrider"] + arguments,
      program: "/usr/bin/unshare", environment: ["XDG_RUNTIME_DIR": "/nonexistent"])
  }

  @Test func memoryIsBoundedWhereNothingCountsIt() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(
      """
      #include <fcntl.h>
      #include <stdio.h>
      #include <stdlib.h>
      #include <unistd.h>
      static char block[1 << 18];
      int fill(int count) {
        char path[256];
        int written = 0;
        snprintf(path, sizeof path, "%s/file", getenv("HOME"));
        int file = open(path, O_WRONLY | O_CREAT, 0600);
        while (written < count && write(file, block, sizeof block) == sizeof block) written++;
        return written;
      }
      """, "-o fill.so", in: folder)
    let words = ["/mnt/plugin.so", "fill", "i32(i32)", "100"]
    let finished = try Self.confined(["call"] + words + ["--memory", "8MiB"], library: "\(folder)/fill.so")
    // Four blocks are the MiB of a container that nothing else counts.
    #expect(finished.output == "4\n", "\(finished)")
    let kept = try Self.confined(
      ["call"] + words + ["--container", "/mnt/kept"], library: "\(folder)/fill.so", prepare: "mkdir /mnt/kept")
    #expect(kept.output == "100\n", "\(kept)")
  }

  /// The host would put the copy where the plugin doesn't see it.
  @Test func handsNothingOverInMemory() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(
      """
      #include "background_assets_extension.h"
      #include <unistd.h>
      static ba_status request(const ba_host *host, const ba_content_request *request) {
        ba_download download = {sizeof download};
        download.identifier = ba_text("a");
        download.url = ba_text("https://assets.example.com/a");
        download.application_group_identifier = ba_text("group.com.example.app");
        download.file_size = 3;
        return host->answer(host, &download);
      }
      static ba_status finished(const ba_host *host, const ba_download *download, const char *path) {
        return access(path, R_OK) == 0 ? BA_OK : pause();
      }
      static const ba_entry_point entries[] = {
        {BA_CONTENT_REQUEST, BA_CONTENT_REQUEST_SIGNATURE, (void (*)(void))request},
        {BA_DOWNLOAD_FINISHED, BA_DOWNLOAD_FINISHED_SIGNATURE, (void (*)(void))finished}};
      static const ba_extension extension = {sizeof extension, BA_ABI_VERSION, "taker", entries, 2};
      BA_EXPORT const ba_extension *background_assets_extension(uint32_t version) { return &extension; }
      """, "-I '\(Workspace.root)/Sources/CExtension/include' -o taker.so", in: folder)
    let words = ["run", "/mnt/plugin.so", "--request", "install", "--manifest", "/mnt/m", "--finished", "a=/mnt/m"]
    let refused = try Self.confined(words, library: "\(folder)/taker.so", prepare: "echo '{}' >/mnt/m")
    #expect(refused.status == 64 && refused.errors.contains("--container"), "\(refused)")
    let taken = try Self.confined(
      words + ["--container", "/mnt/kept"], library: "\(folder)/taker.so",
      prepare: "echo '{}' >/mnt/m && mkdir /mnt/kept")
    #expect(taken.status == 0, "\(taken)")
  }

  @Test func saysThatThereIsNoRoomForAFolder() throws {
    let call = ["call", "libc.so.6", "abs", "i32(i32)", "-5"]
    for options in ["ro", "nr_inodes=1"] {
      let finished = try Self.confined(call, options: options)
      #expect(finished.status == 70 && finished.output.isEmpty, "\(options): \(finished)")
      #expect(finished.errors.contains("/tmp:") && finished.errors.contains("--container"), "\(finished.errors)")
    }
  }

  /// The canary has no folder, the plugin has: nothing is known to be open.
  @Test func whatCouldntBeTriedIsNotAbsent() throws {
    let call = ["call", "libc.so.6", "abs", "i32(i32)", "-5", "--json", "--container", "/mnt/kept"]
    let finished = try Self.confined(call, prepare: "mkdir /mnt/kept", options: "ro")
    #expect(finished.status == 0, "\(finished.errors)")
    let object = try #require(try JSONSerialization.jsonObject(with: Data(finished.output.utf8)) as? [String: Any])
    let walls = try #require(object["sandbox"] as? [String: [String: String]])
    for wall in ["seccomp", "rlimits", "watchdog"] {
      #expect(walls[wall]?["state"] == "partial" && walls[wall]?["detail"]?.contains("couldn't be tried") == true)
    }
    let strict = ["mkdir /mnt/kept", "echo 'version: 1' >/mnt/policy", "echo 'require: [seccomp]' >>/mnt/policy"]
    let refused = try Self.confined(
      call + ["--policy", "/mnt/policy"], prepare: strict.joined(separator: " && "), options: "ro")
    #expect(refused.status == 69, "\(refused)")
  }
}
