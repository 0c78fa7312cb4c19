import Foundation
import PluginHost
import Sandbox
import TestSupport
import Testing

/// The built products that these tests use, found from where the test binary lies.
enum Workspace {
  static let products: String = {
    let binary = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    return ProcessInfo.processInfo.environment["OUTRIDER_PRODUCTS"] ?? binary.deletingLastPathComponent().path
  }()
  static let root: String = {
    ProcessInfo.processInfo.environment["OUTRIDER_ROOT"]
      ?? URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().path
  }()
  static let hostile = root + "/Plugins/hostile/build"
  static let outrider: String = {
    // Who runs the tests in a script's background has these ignored, and a program leaves ignored what its parent ignores:
    // the tests would wait for ever for what they interrupted.
    for number in [SIGINT, SIGQUIT, SIGHUP] { signal(number, SIG_DFL) }
    return products + "/outrider"
  }()

  static func host(
    isCold: Bool = false, withoutNamespaces: Set<Wall> = [], canaryWithout: Set<Wall> = []
  ) throws -> PluginHost {
    var configuration = PluginHost.Configuration()
    configuration.runner = products + "/outrider-runner"
    configuration.isCold = isCold
    configuration.withoutNamespaces = withoutNamespaces
    configuration.canaryWithout = canaryWithout
    return try PluginHost(configuration: configuration)
  }

  struct Finished {
    var status: Int32
    var output: String
    var errors: String
  }

  /// Runs the command line to its end.
  static func run(
    _ arguments: [String], program: String = outrider, environment: [String: String] = [:]
  ) throws -> Finished {
    let process = TestProcess()
    if !environment.isEmpty {
      process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    }
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    let output = Pipe.own()
    let errors = Pipe.own()
    process.standardOutput = output
    process.standardError = errors
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let drained = DispatchQueue(label: "errors")
    nonisolated(unsafe) var errorData = Data()
    let done = DispatchSemaphore(value: 0)
    drained.async {
      errorData = errors.fileHandleForReading.readDataToEndOfFile()
      done.signal()
    }
    let data = output.fileHandleForReading.readDataToEndOfFile()
    done.wait()
    process.waitUntilExit()
    return Finished(
      status: process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus,
      output: String(decoding: data, as: UTF8.self), errors: String(decoding: errorData, as: UTF8.self))
  }

  /// Runs the command line to its end. The status of wait(2), and the most memory that it ever held.
  static func measure(_ arguments: [String]) throws -> (status: Int32, peak: Int) {
    var words: [UnsafeMutablePointer<CChar>?] = ([outrider] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for descriptor in [1, 2] as [Int32] {
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
    }
    var pid: pid_t = 0
    let code = posix_spawn(&pid, outrider, &actions, nil, &words, environ)
    guard code == 0 else { throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO) }
    // The kernel's own figure (ru_maxrss) begins with what this process had when it was spawned from it.
    var status: Int32 = 0
    var peak = 0
    while waitpid(pid, &status, WNOHANG) == 0 {
      let text = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
      let line = text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
      peak = max(peak, (Int(line.filter(\.isNumber)) ?? 0) << 10)
      usleep(500)
    }
    return (status, peak)
  }

  static func temporaryFile(_ content: String, suffix: String = ".json") throws -> String {
    let path = ProcessFolder.path + "/\(UUID().uuidString)\(suffix)"
    try content.write(toFile: path, atomically: false, encoding: .utf8)
    return path
  }

  static let manifest = #"""
    {"sessions":[{"id":"a","title":"A","url":"https://assets.example.com/a.mp4","size":10,"essential":false}]}
    """#
}
