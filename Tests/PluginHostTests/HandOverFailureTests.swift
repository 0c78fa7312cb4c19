import Foundation
import LinuxSystem
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct HandOverFailureTests {
  private func error(_ step: HandOverFailure.Step, _ call: String, _ code: Int32) -> HostError {
    HandOverFailure(
      step: step, error: SystemCallError(call, code: code, subject: "x"), file: "talk.mp4", container: "/group"
    ).hostError
  }

  @Test("The file is blamed for what is the file's")
  func file() {
    for (step, call, code) in [(.file, "fstat", EBADF), (.folder, "sendfile", EIO), (.folder, "sendfile", EINVAL)]
      as [(HandOverFailure.Step, String, Int32)]
    {
      guard case .input(let text) = error(step, call, code) else {
        Issue.record("\(call) \(code)")
        continue
      }
      #expect(text.hasPrefix("talk.mp4: "))
    }
  }

  @Test(
    "What a plugin made of its container is the plugin's",
    arguments: ["openat", "mkdirat", "fchown", "flock"],
    [EACCES, EPERM, EEXIST, ENOENT, ENOTDIR, ELOOP, ENOTEMPTY, EMLINK])
  func plugin(_ call: String, _ code: Int32) {
    guard case .handOver(let text) = error(.folder, call, code) else {
      Issue.record("\(call) \(code)")
      return
    }
    #expect(text.contains("the plugin has changed /group/.incoming"))
    #expect(text.contains("nothing is wrong with the file"))
  }

  @Test("A full volume is no process's, and descriptors are this process's") func others() {
    for code in [ENOSPC, EDQUOT, EROFS] {
      for step in [HandOverFailure.Step.container, .folder] {
        guard case .handOver(let text) = error(step, "sendfile", code) else {
          Issue.record("\(code)")
          continue
        }
        #expect(!text.contains("plugin has changed") && text.contains("/group"))
      }
    }
    for step in HandOverFailure.Step.allCases {
      guard case .exhausted = error(step, "openat", EMFILE) else {
        Issue.record("\(step)")
        continue
      }
    }
  }

  @Test("A container that is another one by now") func replaced() throws {
    let folder = NSTemporaryDirectory() + "outrider-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try "talk".write(toFile: folder + "/talk.mp4", atomically: false, encoding: .utf8)
    let file = try FinishedFile(opening: folder + "/talk.mp4")
    let other = try Files.identity(of: "/")
    let error = #expect(throws: HostError.self) {
      _ = try StagedFile(copying: file, as: "talk.mp4", into: folder, other, host: 1)
    }
    guard case .handOver(let text)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(text.contains("the container \(folder) was replaced"))
  }

  @Test("The folder for finished files is the host's to write in, whatever the plugin made of its mode")
  func mode() throws {
    let folder = NSTemporaryDirectory() + "outrider-test-\(UUID().uuidString)"
    for mode in [0o000, 0o500, 0o300] {
      try FileManager.default.createDirectory(atPath: folder + "/.incoming", withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: folder) }
      try "talk".write(toFile: folder + "/talk.mp4", atomically: false, encoding: .utf8)
      #expect(chmod(folder + "/.incoming", mode_t(mode)) == 0)
      let staged = try StagedFile(
        copying: try FinishedFile(opening: folder + "/talk.mp4"), as: "talk.mp4", into: folder, host: 1)
      #expect(try String(contentsOfFile: folder + staged.relativePath, encoding: .utf8) == "talk")
      var status = stat()
      #expect(stat(folder + "/.incoming", &status) == 0 && status.st_mode & 0o777 == 0o700)
      staged.remove()
    }
  }
}
