import BackgroundAssets
import Foundation
import Testing

/// What sources from Apple platforms expect of Foundation and don't find there on Linux.
@Suite struct PortabilityTests {
  @Test func authenticationMethods() {
    #expect(NSURLAuthenticationMethodServerTrust == "NSURLAuthenticationMethodServerTrust")
    #expect(NSURLAuthenticationMethodClientCertificate == "NSURLAuthenticationMethodClientCertificate")
  }

  @Test func inertPropertiesOfARequest() {
    var request = URLRequest(url: URL(string: "https://e.com/a")!)
    request.allowsExpensiveNetworkAccess = false
    request.allowsConstrainedNetworkAccess = false
    request.assumesHTTP3Capable = true
    #expect(request.allowsExpensiveNetworkAccess && request.allowsConstrainedNetworkAccess)
    #expect(!request.assumesHTTP3Capable)
  }

  @Test func poolOfAutoreleasedObjects() throws {
    autoreleasepool {}
    #expect(autoreleasepool { 1 } == 1)
    #expect(throws: CocoaError.self) { try autoreleasepool { throw CocoaError(.fileNoSuchFile) } }
  }
}
