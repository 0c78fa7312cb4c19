import Testing

@testable import ServiceProtocol

@Suite struct ServiceProtocolTests {}
