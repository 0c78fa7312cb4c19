import Testing

@testable import ServiceClient

@Suite struct ServiceClientTests {}
