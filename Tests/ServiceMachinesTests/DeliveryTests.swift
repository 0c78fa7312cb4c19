import Foundation
import TestSupport
import Testing

@testable import ServiceMachines

@Suite(.timeLimit(.minutes(2))) struct DeliveryTests {
  typealias Occurrence = EventRouter.Occurrence

  static func occurrence(_ number: Int64, _ kind: EventRouter.Kind, _ unique: String = "u") -> Occurrence {
    Occurrence(number: number, uniqueIdentifier: unique, kind: kind)
  }

  static let app = Recipient.connection(1)
  static let own = Recipient.delegate(run: 9)

  // MARK: The router

  @Test("Without a delegate the extension is woken for challenge, failed and finished, and for nothing else [B29, B30]")
  func wakesForThree() {
    for kind in [EventRouter.Kind.began, .paused, .progress, .challenge, .failed, .finished] {
      var router = EventRouter()
      let effects = router.handle(.occurred(Self.occurrence(1, kind)), at: 0)
      #expect(effects == (kind.needsAnswer ? [.wakeExtension] : []))
    }
  }

  @Test("A delegate gets the events of all downloads from the moment that it is set, and none from before [B28]")
  func fromTheMoment() {
    var router = EventRouter()
    #expect(router.handle(.occurred(Self.occurrence(1, .began)), at: 0).isEmpty)
    #expect(router.handle(.observing(recipient: Self.app, isObserving: true), at: 0).isEmpty)
    let progress = Self.occurrence(2, .progress)
    #expect(
      router.handle(.occurred(progress), at: 0) == [.notify(recipients: [Self.app], occurrence: progress)])
    _ = router.handle(.observing(recipient: Self.app, isObserving: false), at: 0)
    #expect(router.handle(.occurred(Self.occurrence(3, .progress)), at: 0).isEmpty)
  }

  @Test("What the delegate handles doesn't wake the extension; what it doesn't implement does [B29]")
  func handledOrNot() {
    for isHandled in [true, false] {
      var router = EventRouter()
      _ = router.handle(.observing(recipient: Self.app, isObserving: true), at: 0)
      let event = Self.occurrence(1, .finished)
      #expect(router.handle(.occurred(event), at: 0) == [.call(recipient: Self.app, occurrence: event)])
      let effects = router.handle(.answered(number: 1, recipient: Self.app, isHandled: isHandled), at: 1)
      #expect(
        effects == (isHandled ? [.resolved(occurrence: event, resolution: .handled(by: [Self.app]))] : [.wakeExtension])
      )
    }
  }

  @Test("App and a running extension with a delegate of its own both get each event [B31, B34]")
  func both() {
    var router = EventRouter()
    _ = router.handle(.observing(recipient: Self.app, isObserving: true), at: 0)
    _ = router.handle(.observing(recipient: Self.own, isObserving: true), at: 0)
    let event = Self.occurrence(1, .finished)
    #expect(
      router.handle(.occurred(event), at: 0) == [
        .call(recipient: Self.app, occurrence: event), .call(recipient: Self.own, occurrence: event),
      ])
    #expect(router.handle(.answered(number: 1, recipient: Self.own, isHandled: true), at: 1).isEmpty)
    #expect(
      router.handle(.answered(number: 1, recipient: Self.app, isHandled: false), at: 1)
        == [.resolved(occurrence: event, resolution: .handled(by: [Self.own]))])
  }

  @Test("What a run ends before its delegate was told of it, the app handles or the next run [B13, B31]")
  func untoldDelegate() {
    for isAppThere in [true, false] {
      var router = EventRouter()
      if isAppThere { _ = router.handle(.observing(recipient: Self.app, isObserving: true), at: 0) }
      _ = router.handle(.observing(recipient: Self.own, isObserving: true), at: 0)
      let event = Self.occurrence(1, .finished)
      _ = router.handle(.occurred(event), at: 0)
      #expect(router.handle(.extensionEnding(run: 9), at: 1).isEmpty)
      #expect(router.observers == (isAppThere ? [Self.app] : []))
      let effects = router.handle(.notCalled(number: 1, recipient: Self.own), at: 1)
      #expect(effects == (isAppThere ? [] : [.wakeExtension]), "no process has ended: no crash is counted")
      #expect(router.handle(.left(recipient: Self.own), at: 2).isEmpty)
      if isAppThere {
        #expect(
          router.handle(.answered(number: 1, recipient: Self.app, isHandled: true), at: 3)
            == [.resolved(occurrence: event, resolution: .handled(by: [Self.app]))])
      }
    }
  }

  @Test("After a restart an app that was running gets what is for its delegate when it comes back in time [B29]")
  func reconnects() throws {
    let events = (1...2).map { Self.occurrence(Int64($0), .finished, "u\($0)") }
    for comesBack in [true, false] {
      var router = EventRouter()
      #expect(router.handle(.restarted(isAppRunning: true), at: 0).isEmpty)
      #expect(router.nextDeadline == nil)
      for event in events { #expect(router.handle(.occurred(event), at: 0).isEmpty, "the extension isn't woken yet") }
      let deadline = try #require(router.nextDeadline)
      if comesBack {
        #expect(
          router.handle(.observing(recipient: Self.app, isObserving: true), at: 1)
            == events.map { .call(recipient: Self.app, occurrence: $0) })
        #expect(!router.handle(.tick, now: deadline).contains(.wakeExtension))
      } else {
        #expect(router.handle(.wakePossible, at: 1).isEmpty)
        #expect(router.handle(.tick, now: deadline) == [.wakeExtension])
      }
    }
    var router = EventRouter()
    _ = router.handle(.restarted(isAppRunning: false), at: 0)
    #expect(router.handle(.occurred(events[0]), at: 0) == [.wakeExtension])
  }

  @Test("A woken extension gets all that waits, also what the app scheduled, in order [B32]")
  func batch() {
    var router = EventRouter()
    let events = (1...3).map { Self.occurrence(Int64($0), .finished, "u\($0)") }
    let effects = events.flatMap { router.handle(.occurred($0), at: 0) }
    #expect(effects == [.wakeExtension], "one wake for all of them")
    let entry = Recipient.entryPoint(run: 4)
    #expect(router.handle(.extensionReady(run: 4), at: 1) == events.map { .call(recipient: entry, occurrence: $0) })
    // An extension that leaves in the middle: the answered one counts, the others are offered again.
    _ = router.handle(.answered(number: 1, recipient: entry, isHandled: true), at: 2)
    #expect(
      router.handle(.left(recipient: entry), at: 3)
        == events.dropFirst().map { .resolved(occurrence: $0, resolution: .recipientGone(entry)) })
  }

  @Test("A challenge that no recipient can take, or that isn't answered in time, gets default handling [B71, B72, B73]")
  func challenges() throws {
    let challenge = Self.occurrence(1, .challenge)
    var router = EventRouter()
    _ = router.handle(.occurred(challenge), at: 0)
    #expect(router.handle(.wakeRefused, at: 1) == [.resolved(occurrence: challenge, resolution: .unhandled)])

    router = EventRouter()
    _ = router.handle(.observing(recipient: Self.app, isObserving: true), at: 0)
    _ = router.handle(.occurred(challenge), at: 0)
    let deadline = try #require(router.nextDeadline)
    #expect(
      router.handle(.tick, now: deadline) == [.withdraw(recipient: Self.app, number: 1), .wakeExtension])
    _ = router.handle(.extensionReady(run: 2), now: deadline)
    #expect(
      router.handle(.left(recipient: .entryPoint(run: 2)), now: deadline)
        == [.resolved(occurrence: challenge, resolution: .unhandled)])
  }

  @Test("A finished file that can't be delivered now waits until a wake is possible [B13]")
  func waits() {
    var router = EventRouter()
    _ = router.handle(.occurred(Self.occurrence(1, .finished)), at: 0)
    #expect(router.handle(.wakeRefused, at: 1).isEmpty)
    #expect(router.handle(.wakePossible, at: 2) == [.wakeExtension])
    #expect(router.handle(.wakePossible, at: 2).isEmpty, "asked already")
  }

  @Test("Of what waited for a process that ended, only what it was being told of counts as a crash [B13]")
  func onlyTheFirst() {
    var router = EventRouter()
    _ = router.handle(.observing(recipient: Self.app, isObserving: true), at: 0)
    let all = (1...3).map { Self.occurrence($0, .finished, "u\($0)") }
    for one in all { _ = router.handle(.occurred(one), at: 0) }
    #expect(
      router.handle(.left(recipient: Self.app), at: 1) == [
        .resolved(occurrence: all[0], resolution: .recipientGone(Self.app)), .wakeExtension,
      ])
    #expect(
      router.handle(.extensionReady(run: 4), at: 2)
        == all[1...].map { .call(recipient: .entryPoint(run: 4), occurrence: $0) })
  }

  @Test("A run that ended before it was ready is asked for again, and what waits for it isn't lost [B13, B30]")
  func endedBeforeReady() {
    var router = EventRouter()
    let file = Self.occurrence(1, .finished)
    #expect(router.handle(.occurred(file), at: 0) == [.wakeExtension])
    _ = router.handle(.wakeGranted(run: 4), at: 0)
    #expect(router.handle(.left(recipient: .entryPoint(run: 3)), at: 1).isEmpty, "another run")
    #expect(router.handle(.left(recipient: .entryPoint(run: 4)), at: 1) == [.wakeExtension])
    _ = router.handle(.wakeGranted(run: 5), at: 2)
    #expect(
      router.handle(.extensionReady(run: 5), at: 2) == [.call(recipient: .entryPoint(run: 5), occurrence: file)])
  }

  @Test("A run that is ending takes nothing more, and what it wasn't called for waits for the next one [B32]")
  func ending() {
    var router = EventRouter()
    let (first, second) = (Self.occurrence(1, .finished, "u"), Self.occurrence(2, .failed, "v"))
    _ = router.handle(.occurred(first), at: 0)
    _ = router.handle(.extensionReady(run: 4), at: 0)
    #expect(router.handle(.extensionEnding(run: 4), at: 1).isEmpty)
    #expect(router.handle(.occurred(second), at: 1) == [.wakeExtension])
    #expect(
      router.handle(.notCalled(number: 1, recipient: .entryPoint(run: 4)), at: 2).isEmpty, "a wake is asked for already"
    )
    #expect(router.handle(.left(recipient: .entryPoint(run: 4)), at: 3).isEmpty, "no recipient was told of anything")
    #expect(
      router.handle(.extensionReady(run: 5), at: 4)
        == [second, first].map { .call(recipient: .entryPoint(run: 5), occurrence: $0) })
  }

  // MARK: The ledger

  @Test("While the gate is closed nothing is offered; then everything is, as one batch in its order [B14]")
  func batchAfterGate() {
    var ledger = DeliveryLedger()
    _ = ledger.handle(.gateClosed, at: 0)
    for name in ["c", "a", "b"] {
      #expect(ledger.handle(.staged(uniqueIdentifier: name, hasFile: name != "a"), at: 0).isEmpty)
    }
    #expect(ledger.handle(.gateOpened, at: 1) == [.offer(["c", "a", "b"])])
    #expect(ledger.handle(.gateOpened, at: 1).isEmpty)
  }

  @Test(
    "A file that is left where it was is deleted after the callback; a moved one belongs to the app that moved it [B55]"
  )
  func leftOrMoved() {
    for isMoved in [true, false] {
      var ledger = DeliveryLedger()
      _ = ledger.handle(.staged(uniqueIdentifier: "u", hasFile: true), at: 0)
      _ = ledger.handle(.offered(uniqueIdentifier: "u", recipient: Self.app), at: 0)
      let effects = ledger.handle(.acknowledged(uniqueIdentifier: "u", isMoved: isMoved), at: 1)
      #expect(effects.contains(.deleteFile(uniqueIdentifier: "u")) == !isMoved)
      #expect(effects.last == .close(uniqueIdentifier: "u", outcome: isMoved ? .delivered : .left))
      #expect(ledger.handle(.acknowledged(uniqueIdentifier: "u", isMoved: isMoved), at: 2).isEmpty)
    }
  }

  @Test("What the extension asks for without knowing of a file that has arrived is told apart [B36]")
  func unknownToAnswer() throws {
    var ledger = DeliveryLedger()
    _ = ledger.handle(.asked, at: 0)
    _ = ledger.handle(.staged(uniqueIdentifier: "u", identifier: "a", hasFile: true), at: 0)
    _ = ledger.handle(.staged(uniqueIdentifier: "v", identifier: "b", hasFile: false), at: 0)
    #expect(ledger.isDue("a") && ledger.isUnknownToAnswer("a"))
    #expect(!ledger.isDue("b") && !ledger.isUnknownToAnswer("b") && !ledger.isDue("c"))
    // A recipient that is called with it may ask for it anew.
    _ = ledger.handle(.offered(uniqueIdentifier: "u", recipient: Self.app), at: 0)
    #expect(!ledger.isDue("a") && ledger.isUnknownToAnswer("a"))
    _ = ledger.handle(.acknowledged(uniqueIdentifier: "u", isMoved: true), at: 0)
    #expect(ledger.isUnknownToAnswer("a"), "the answer may have been given before")
    _ = ledger.handle(.answered, at: 0)
    #expect(!ledger.isUnknownToAnswer("a"))
    for isRestarted in [false, true] {
      _ = ledger.handle(.asked, at: 0)
      #expect(!ledger.isUnknownToAnswer("a"))
      _ = ledger.handle(.staged(uniqueIdentifier: "w", identifier: "a", hasFile: true), at: 0)
      if isRestarted {
        // As a journal keeps it: each entry by itself, or all in one.
        let kept = try JSONEncoder().encode(ledger)
        #expect(try JSONDecoder().decode(DeliveryLedger.self, from: kept).isDue("a"))
        var again = ledger.withoutEntries
        for (unique, entry) in ledger.entries { again.take(entry, of: unique) }
        ledger = again
      }
      #expect(ledger.isDue("a"))
      _ = ledger.handle(.discarded(uniqueIdentifier: "w"), at: 0)
      #expect(!ledger.isDue("a"))
      _ = ledger.handle(.answered, at: 0)
    }
  }

  @Test("After its recipient ended three times a file is kept as undelivered; after a move it was delivered")
  func threeCrashes() {
    var ledger = DeliveryLedger()
    #expect(ledger.handle(.staged(uniqueIdentifier: "u", hasFile: true), at: 0) == [.offer(["u"])])
    for crash in 1...3 {
      _ = ledger.handle(.offered(uniqueIdentifier: "u", recipient: Self.app), at: 0)
      let effects = ledger.handle(.recipientGone(uniqueIdentifier: "u", isMoved: false), at: 0)
      #expect(effects == [crash < 3 ? .offer(["u"]) : .close(uniqueIdentifier: "u", outcome: .undelivered)])
    }
    _ = ledger.handle(.staged(uniqueIdentifier: "v", hasFile: true), at: 0)
    _ = ledger.handle(.offered(uniqueIdentifier: "v", recipient: Self.app), at: 0)
    #expect(
      ledger.handle(.recipientGone(uniqueIdentifier: "v", isMoved: true), at: 0)
        == [.close(uniqueIdentifier: "v", outcome: .delivered)])
  }

  @Test("After the service died it looks at the file, and offers it again only if it is still there")
  func restarted() {
    for isMoved in [true, false] {
      var ledger = DeliveryLedger()
      _ = ledger.handle(.staged(uniqueIdentifier: "u", hasFile: true), at: 0)
      _ = ledger.handle(.offered(uniqueIdentifier: "u", recipient: Self.app), at: 0)
      for _ in 1...5 { #expect(ledger.handle(.restarted, at: 1) == [.inspect(uniqueIdentifier: "u")]) }
      #expect(
        ledger.handle(.inspected(uniqueIdentifier: "u", isMoved: isMoved), at: 1)
          == [isMoved ? .close(uniqueIdentifier: "u", outcome: .delivered) : .offer(["u"])])
    }
  }
}
