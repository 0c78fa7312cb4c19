import BackgroundAssets
import Foundation
import Synchronization
import Testing

/// What sources from Apple platforms expect of Foundation and don't find there on Linux.
@Suite(.timeLimit(.minutes(1))) struct PortabilityTests {
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

  @Test func inertPropertiesOfNewerSystems() {
    var request = URLRequest(url: URL(string: "https://e.com/a")!)
    request.attribution = .user
    request.requiresDNSSECValidation = true
    request.allowsPersistentDNS = true
    request.allowsUltraConstrainedNetworkAccess = false
    #expect(request.attribution == .developer && request.allowsUltraConstrainedNetworkAccess)
    #expect(!request.requiresDNSSECValidation && !request.allowsPersistentDNS)
    let error = URLError(.cancelled)
    #expect(error.downloadTaskResumeData == nil && error.backgroundTaskCancelledReason == nil)
  }

  @Test func inertActivities() {
    let process = ProcessInfo.processInfo
    let activity = process.beginActivity(options: [.background, .idleSystemSleepDisabled], reason: "unpacking")
    process.endActivity(activity)
    var hasRun = false
    process.performActivity(options: .userInitiated, reason: "unpacking") { hasRun = true }
    #expect(hasRun && !process.isMacCatalystApp && !process.isiOSAppOnMac)
    #expect(ProcessInfo.thermalStateDidChangeNotification != .NSProcessInfoPowerStateDidChange)
  }

  @Test("Observation comes with the module") func observation() {
    let model = PackModel()
    let hasChanged = Atomic(false)
    withObservationTracking {
      _ = model.progress
    } onChange: {
      hasChanged.store(true, ordering: .relaxed)
    }
    model.progress = 1
    let isTold = hasChanged.load(ordering: .relaxed)
    #expect(isTold)
  }

  @Test func poolOfAutoreleasedObjects() throws {
    autoreleasepool {}
    #expect(autoreleasepool { 1 } == 1)
    #expect(throws: CocoaError.self) { try autoreleasepool { throw CocoaError(.fileNoSuchFile) } }
  }

  @Test func placesForFiles() {
    let places: [URL] = [.documentsDirectory, .libraryDirectory, .cachesDirectory, .applicationSupportDirectory]
    #expect(Set(places).count == 4)
    #expect(places.allSatisfy { $0.isFileURL && $0.hasDirectoryPath })
  }

  @Test func roomOnAVolume() throws {
    let values = try URL(fileURLWithPath: "/").resourceValues(forKeys: [
      .volumeAvailableCapacityForImportantUsageKey, .volumeAvailableCapacityForOpportunisticUsageKey,
    ])
    #expect(try #require(values.volumeAvailableCapacityForImportantUsage) > 0)
    #expect(try #require(values.volumeAvailableCapacityForOpportunisticUsage) > 0)
  }

  @Test func absoluteTime() {
    let start: CFAbsoluteTime = CFAbsoluteTimeGetCurrent()
    #expect(abs(start - Date().timeIntervalSinceReferenceDate) < 60)
  }
}
