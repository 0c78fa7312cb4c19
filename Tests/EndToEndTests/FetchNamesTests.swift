import DevelopmentOrigin
import Foundation
import LinuxSystem
import Testing

@testable import outrider

/// What a command names: folders that go away, lists, and bytes that are no text.
@Suite struct FetchNamesTests {
  private typealias Place = FetchTests.Place

  private static func shell(_ script: String) throws -> Workspace.Finished {
    try Workspace.run(["-c", "O='\(Workspace.outrider)'; \(script)"], program: "/bin/bash")
  }

  @Test func aWorkingDirectoryThatIsGoneIsNotTheRoot() throws {
    let place = try Place()
    let (url, gone) = (place.origin.url("/b.bin"), "\(place.folder)/gone")
    let leave = "mkdir '\(gone)' && cd '\(gone)' && rmdir '\(gone)' &&"
    for options in ["--state '\(place.folder)/state'", "--to '\(place.folder)' --state state"] {
      let result = try Self.shell("\(leave) exec $O fetch \(url) \(options)")
      #expect(result.status == 66 && result.errors.contains("working directory is gone"), "\(result.errors)")
    }
    #expect(place.origin.requests.isEmpty)
    #expect(try Self.shell("\(leave) exec $O fetch \(url) \(place.base.joined(separator: " "))").status == 0)
  }
}
