import Foundation
import PluginHost
import Testing

/// The built products that these tests use, found from where the test binary lies.
enum Workspace {
  static let products: String = {
    let binary = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    return ProcessInfo.processInfo.environment["OUTRIDER_PRODUCTS"] ?? binary.deletingLastPathComponent().path
  }()
  static let root: String = {
    ProcessInfo.processInfo.environment["OUTRIDER_ROOT"]
      ?? URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path
  }()
  static let hostile = root + "/Plugins/hostile/build"
  static let outrider = products + "/outrider"

  static func host(isCold: Bool = false) throws -> PluginHost {
    var configuration = PluginHost.Configuration()
    configuration.runner = products + "/outrider-runner"
    configuration.isCold = isCold
    return try PluginHost(configuration: configuration)
  }

  struct Finished {
    var status: Int32
    var output: String
    var errors: String
  }

  /// Runs the command line to its end.
  static func run(_ arguments: [String]) throws -> Finished {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: outrider)
    process.arguments = arguments
    let output = Pipe()
    let errors = Pipe()
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

  static func temporaryFile(_ content: String, suffix: String = ".json") throws -> String {
    let path = NSTemporaryDirectory() + "outrider-test-\(UUID().uuidString)\(suffix)"
    try content.write(toFile: path, atomically: false, encoding: .utf8)
    return path
  }

  static let manifest = #"""
    {"sessions":[{"id":"a","title":"A","url":"https://assets.example.com/a.mp4","size":10,"essential":false}]}
    """#
}
