import BackgroundAssets
import Foundation
import Testing

/// What sources from Apple platforms expect of Foundation and don't find there on Linux.
@Suite struct PortabilityTests {
  @Test func authenticationMethods() {
    #expect(NSURLAuthenticationMethodServerTrust == "NSURLAuthenticationMethodServerTrust")
    #expect(NSURLAuthenticationMethodClientCertificate == "NSURLAuthenticationMethodClientCertificate")
  }
}
