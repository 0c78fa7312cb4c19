import ServiceClient
import ServiceProtocol
import Testing

@Suite struct ServiceClientTests {
  @Test("a path longer than a socket's address is named with both lengths") func longPath() {
    let path = "/" + String(repeating: "x", count: 120)
    let error = #expect(throws: ServiceConnectionError.self) { _ = try ServiceConnection.connect(to: path) }
    #expect(error?.reason == .pathTooLong(bytes: 121, max: 107))
    #expect(error?.description.contains("121 bytes") == true && error?.description.contains("OUTRIDER_STATE") == true)
  }

  @Test("where nothing listens, the service isn't running") func absent() {
    let error = #expect(throws: ServiceConnectionError.self) {
      _ = try ServiceConnection.connect(to: "/nonexistent/service.sock")
    }
    #expect(error?.isServiceAbsent == true && error?.description.contains("isn't running") == true)
  }
}
