import Testing

@testable import ServiceMachines

@Suite struct ServiceMachinesTests {}
