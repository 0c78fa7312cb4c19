import DevelopmentOrigin
import Foundation
import LinuxSystem
import Testing

/// `outrider fetch` as people use it.
@Suite struct FetchTests {
  final class Place {
    let folder: String
    let origin: Origin

    init(_ configure: (inout OriginConfiguration) -> Void) throws {
      folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-fetch-")
      origin = try Origin(configure)
    }

    deinit {
      origin.stop()
      Files.removeTree(folder)
    }

    func fetch(_ arguments: String...) throws -> CommandResult {
      try Outrider.run(["fetch", "--to", folder, "--state", "\(folder)/state"] + arguments)
    }

    func data(_ name: String) -> Data? { FileManager.default.contents(atPath: "\(folder)/\(name)") }
  }
}
