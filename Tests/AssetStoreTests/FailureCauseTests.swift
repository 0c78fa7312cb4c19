import AssetModel
import GRDB
import TestSupport
import Testing

@testable import AssetStore

/// What failures were about, in the journal and back.
@Suite(.ownThreads, .timeLimit(.minutes(1))) struct FailureCauseTests {
  private static let causes: [FailureCause] =
    [
      .httpStatus(404), .clientCertificate(origin: "https://a:443"),
      .untrustedAuthority(origin: "https://a:443", isForged: true, problem: "so it was"),
      .refusedAddress(host: "a", address: "10.0.0.1", reason: "10.0.0.1 is private"),
      .refusedAddress(host: "a", address: nil, reason: "an unknown address"),
      .addressLiteral(address: "1.2.3.4", redirectedBy: nil),
      .addressLiteral(address: "1.2.3.4", redirectedBy: "https://b/"),
      .proxy(why: "the proxy p:1: it's gone"),
      .unlistedHost(why: "a isn't among the allowed domains (b); add it to the list"),
      .credential(CredentialDemand(nil, by: "the proxy p:1", isProxy: true, .unanswered)),
    ]
    + [
      .nobodyToAsk(realm: "r \" \u{1F600}"), .unanswered, .refused, .refusedOften(times: 3), .unfit,
      .weaker(than: .bearer),
    ]
    .flatMap { (outcome: CredentialDemand.Outcome) in
      AuthScheme.allCases.map { .credential(CredentialDemand($0, by: "https://a:443", isProxy: false, outcome)) }
    }

  /// A store with one open job.
  private static func store(_ folder: AssetStoreTests.Folder) throws -> (AssetStore, JobRecord) {
    let store = try AssetStore(opening: folder.path)
    let id = try #require(try store.add([LedgerTests.sized("a", 1)], now: AssetStoreTests.moment())[0].job)
    return (store, try #require(try store.job(id)))
  }

  @Test func everyCauseComesBack() throws {
    let folder = try AssetStoreTests.Folder()
    let store = try AssetStore(opening: folder.path)
    let added = try store.add(
      Self.causes.indices.map { LedgerTests.sized("\($0)", 1) }, now: AssetStoreTests.moment())
    var settled: [JobRecord] = []
    for (id, cause) in zip(added.compactMap(\.job), Self.causes) {
      var job = try #require(try store.job(id))
      #expect(job.lastCause == nil && job.lastError == nil)
      job.noteError(cause.sentence, cause)
      try store.commit([.job(job)])
      #expect(try store.job(id) == job)
      let failure = TransferFailure(.challenge, status: 401, hop: 2, cause: cause).keeping(7)
      job.state = .failed(failure)
      job.noteError(failure.detail, cause)
      try store.commit([.job(job)])
      settled.append(job)
    }
    try store.close()
    let again = try AssetStore(opening: folder.path)
    #expect(settled.count == Self.causes.count)
    for job in settled {
      let found = try again.job(job.id)
      #expect(found?.state == job.state && found?.lastCause == job.lastCause && found?.lastError == job.lastError)
    }
    try again.close()
  }

  /// Rows stay: what was written so must be read so for ever.
  @Test(arguments: [
    (#"{"httpStatus":{"_0":404}}"#, FailureCause.httpStatus(404)),
    (#"{"clientCertificate":{"origin":"o"}}"#, .clientCertificate(origin: "o")),
    (
      #"{"untrustedAuthority":{"origin":"o","isForged":false,"problem":"p"}}"#,
      .untrustedAuthority(origin: "o", isForged: false, problem: "p")
    ),
    (
      #"{"refusedAddress":{"host":"h","address":"10.0.0.1","reason":"r"}}"#,
      .refusedAddress(host: "h", address: "10.0.0.1", reason: "r")
    ),
    (#"{"addressLiteral":{"address":"1.2.3.4"}}"#, .addressLiteral(address: "1.2.3.4", redirectedBy: nil)),
    (#"{"unlistedHost":{"why":"w"}}"#, .unlistedHost(why: "w")),
    (
      #"{"credential":{"_0":{"scheme":"basic","peer":"o","isProxy":false,"outcome":{"nobodyToAsk":{"realm":"r"}}}}}"#,
      .credential(CredentialDemand(.basic, by: "o", isProxy: false, .nobodyToAsk(realm: "r")))
    ),
    (
      #"{"credential":{"_0":{"peer":"o","isProxy":true,"outcome":{"unanswered":{}}}}}"#,
      .credential(CredentialDemand(nil, by: "o", isProxy: true, .unanswered))
    ),
  ]) func written(text: String, cause: FailureCause) throws {
    let folder = try AssetStoreTests.Folder()
    let (store, job) = try Self.store(folder)
    try store.close()
    try Self.write(text, folder)
    let again = try AssetStore(opening: folder.path)
    #expect(try again.job(job.id)?.lastCause == cause)
    try again.close()
  }

  @Test(
    "what this program didn't write isn't taken for no cause",
    arguments: [
      "", "{}", "404", "{\"httpStatus\":{}}", "{\"httpStatus\":{\"_0\":\"404\"}}", "{\"unheardOf\":{}}",
      "{\"httpStatus\":{\"_0\":404},\"clientCertificate\":{\"origin\":\"o\"}}",
      #"{"credential":{"_0":{"scheme":"ntlm","peer":"o","isProxy":true,"outcome":{"unanswered":{}}}}}"#,
      #"{"credential":{"_0":{"scheme":"basic","peer":"o","isProxy":true,"outcome":{"unheardOf":{}}}}}"#,
    ]) func unreadable(text: String) throws
  {
    let folder = try AssetStoreTests.Folder()
    let (store, job) = try Self.store(folder)
    try store.close()
    try Self.write(text, folder)
    let again = try AssetStore(opening: folder.path)
    #expect(throws: (any Error).self) { try again.job(job.id) }
    try again.close()
  }

  private static func write(_ text: String, _ folder: AssetStoreTests.Folder) throws {
    let queue = try DatabaseQueue(path: folder.database)
    try queue.write { try $0.execute(sql: "UPDATE jobs SET lastCause = ?", arguments: [text]) }
    try queue.close()
  }
}
