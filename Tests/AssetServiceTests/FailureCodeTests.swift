import AssetModel
import AssetStore
import Downloads
import ServiceMachines
import ServiceProtocol
import Testing

@testable import AssetService

/// With which code clients see a failure of the engine.
@Suite(.timeLimit(.minutes(1))) struct FailureCodeTests {
  @Test(
    "Before the first launch 202 is what the allow list decided; what else isn't allowed is -1022, as it is later [B63]",
    arguments: [
      (FailureCause.unlistedHost(why: "a isn't among them"), 202),
      (.addressLiteral(address: "1.2.3.4", redirectedBy: nil), 202),
      (.refusedAddress(host: "a", address: "10.0.0.1", reason: "10.0.0.1 is private"), -1022), (nil, -1022),
    ] as [(FailureCause?, Int)])
  func notAllowed(cause: FailureCause?, code: Int) {
    let failure = TransferFailure(.notAllowed, cause: cause, detail: "https://a redirects from https to http")
    let restricted = Failure(failure, isRestricted: true)
    #expect(restricted.code == code)
    #expect(restricted.domain == (code == 202 ? "BAErrorDomain" : "NSURLErrorDomain"))
    #expect(Failure(failure, isRestricted: false).code == -1022)
  }

  @Test(
    "Under a rejection lies what is wrong with its URL, whatever else has such words in it [L4]",
    arguments: [
      ("http://example.com/a", [:], -1002), ("https:///a", [:], -1002), ("a b", [:], -1002),
      ("https://example.com/a", ["https://x": "y"], nil), ("https://user@https.example.com/a", [:], nil),
      ("https://example.com/" + String(repeating: "a", count: 9000), [:], nil),
    ] as [(String, [String: String], Int?)])
  func rejectedURL(url: String, headers: [String: String], code: Int?) throws {
    let download = Download(
      identifier: "a", url: url, headers: headers.map { Download.Header(name: $0.key, value: $0.value) },
      applicationGroupIdentifier: "group.a", fileSize: 1)
    let rejection = try #require(DownloadRules(request: nil).rejectionReason(for: download))
    let failure = ServiceFailure(rejection)
    #expect(failure.code == 102 && failure.underlyingCode == code, "\(failure)")
    #expect(failure.underlyingDomain == (code == nil ? nil : "NSURLErrorDomain"))
  }

  @Test("What was let in and finds its allowance used up has 203, and is told which one, and by how much [B63, X2]")
  func usedUp() {
    for (isEssential, key) in [(true, "BAEssentialDownloadAllowance"), (false, "BADownloadAllowance")] {
      var value = EndedTransfer.value(fileSize: 10)
      value.isEssential = isEssential
      let specification = TransferPlan(groups: "/", store: "/").specification(
        "a", value, urgency: .background, owner: .extension, budget: isEssential ? .essential : .other, domains: nil)
      let failure = Failure.framework(203, "\(key) lacks 7 bytes for it before the first launch")
      #expect(
        AddResult.allowance(missing: 7).event(specification)
          == .engineSettled(uniqueIdentifier: value.uniqueIdentifier, settlement: .failed(failure)))
    }
  }

  @Test("Who answers a challenge by cancelling it gets -999, as after a cancellation")
  func cancelledChallenge() {
    let failure = TransferFailure(.challenge, status: 401, detail: "https://a asks for a password")
    #expect(Failure(failure, isRestricted: false).code == -1013)
    #expect(Failure(failure, isRestricted: false, isChallengeCancelled: true).code == -999)
    #expect(Failure(failure, isRestricted: false, isChallengeCancelled: true).domain == "NSURLErrorDomain")
    let trust = TransferFailure(.trust, detail: "https://a isn't trusted")
    #expect(Failure(trust, isRestricted: false, isChallengeCancelled: true).code == -999)
    // Another failure has nothing to do with the answer.
    let other = TransferFailure(.gone, detail: "no")
    #expect(Failure(other, isRestricted: false, isChallengeCancelled: true).code == -1100)
  }
}
