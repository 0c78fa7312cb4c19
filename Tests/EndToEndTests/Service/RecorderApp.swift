import Foundation
import Glibc
import ServiceProtocol
import TestSupport

/// A running Tests/DeliveryRecorder from the newest installed version of a world's app.
final class RecorderApp {
  struct File {
    var identifier: String
    var size: Int
    var isForeground = true
  }

  private let world: ServiceWorld
  private let process = TestProcess()
  /// Our end of its standard input: a socket, because writing into a pipe that no process reads any more ends the writer.
  private let input: FileHandle

  /// nil: no version is installed.
  init?(of world: ServiceWorld) throws {
    self.world = world
    let folder = "\(world.paths.apps)/\(ServiceWorld.app)"
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    guard let version = versions.filter({ $0 != "current" && !$0.hasPrefix(".") }).sorted().last else { return nil }
    process.executableURL = URL(fileURLWithPath: "\(folder)/\(version)/Sessions.app/Sessions")
    process.environment = ProcessInfo.processInfo.environment.merging([ServicePaths.stateVariable: world.state]) { $1 }
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      throw ServiceWorld.Trouble(description: "no socket: \(errno)")
    }
    input = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
    let itsInput = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
    process.standardInput = itsInput
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    try itsInput.close()
  }

  deinit { stop() }

  var isRunning: Bool { process.isRunning }

  func kill() { if process.isRunning { Glibc.kill(process.processIdentifier, SIGKILL) } }

  func stop() {
    kill()
    process.waitUntilExit()
  }

  /// Has it schedule downloads of what the origin has under their names. An app that is gone hears nothing.
  func ask(_ files: [File]) {
    let lines = files.map {
      "\($0.identifier) \(world.origin.url("/\($0.identifier)")) \($0.size) \($0.isForeground ? "foreground" : "background")\n"
    }
    let bytes = Array(lines.joined().utf8)
    _ = Glibc.send(input.fileDescriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }
}
