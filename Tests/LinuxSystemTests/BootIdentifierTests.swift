import Foundation
import LinuxSystem
import Testing

@Suite(.timeLimit(.minutes(1))) struct BootIdentifierTests {
  @Test("A boot's identifier is a UUID, and one that was written down with the end of its line is the same")
  func sameBoot() throws {
    let current = try #require(BootIdentifier.current)
    #expect(UUID(uuidString: current) != nil, "\(current)")
    #expect(BootIdentifier.text(current + "\n") == current && BootIdentifier.text(current) == current)
    #expect(BootIdentifier.text("") == "")
  }
}
