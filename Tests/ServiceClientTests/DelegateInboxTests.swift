import Basics
import ServiceProtocol
import TestSupport
import Testing

@testable import BackgroundAssets

@Suite(.timeLimit(.minutes(2))) struct DelegateInboxTests {
  private func download(_ name: Int) -> DownloadValue {
    DownloadValue(
      identifier: "\(name)", uniqueIdentifier: "u\(name)", url: "https://e.com", applicationGroupIdentifier: "g",
      fileSize: 1)
  }

  @Test("of a download's progress only the newest waits, at the place of the first [B41]") func coalesced() {
    let inbox = Inbox()
    for total in 1...1000 {
      for name in 0..<3 {
        #expect(inbox.add(.progress(download(name), totalWritten: Int64(total), totalExpected: 1000)))
      }
    }
    #expect(inbox.count == 3)
    for name in 0..<3 {
      #expect(inbox.next()?.event == .progress(download(name), totalWritten: 1000, totalExpected: 1000))
    }
    #expect(inbox.next() == nil)
  }

  @Test("a withdrawn call isn't told, and one of another connection with its number is") func withdrawn() {
    let inbox = Inbox()
    let event = ServiceProtocol.DelegateEvent.finished(download(0), path: "/f")
    #expect(inbox.add(event, call: .init(connection: 1, number: 7)))
    #expect(inbox.add(event, call: .init(connection: 2, number: 7)))
    #expect(inbox.withdraw(.init(connection: 1, number: 7)))
    #expect(!inbox.withdraw(.init(connection: 1, number: 7)))
    #expect(inbox.next()?.call == .init(connection: 2, number: 7))
    #expect(inbox.add(event, call: .init(connection: 2, number: 8)))
    inbox.withdrawAll(of: 2)
    #expect(inbox.next() == nil)
  }

  @Test("there is an end to what waits") func bounded() {
    let inbox = Inbox()
    let event = ServiceProtocol.DelegateEvent.finished(download(0), path: "/f")
    let accepted = (0...DelegateInbox.maxItems).count { number in
      inbox.add(event, call: .init(connection: 1, number: UInt64(number)))
    }
    #expect(accepted == DelegateInbox.maxItems && inbox.count == accepted)
  }

  @Test("any sequence: calls once and in order, the last state told last, at most two notices of a download waiting")
  func anySequence() {
    var random = SeededGenerator(seed: 17)
    for _ in 0..<200 {
      let inbox = Inbox()
      var waitingCalls: [UInt64] = []
      var lastTransition: [Int: Bool] = [:]
      var toldTransition: [Int: Bool] = [:]
      var number: UInt64 = 0
      func take(_ item: DelegateInbox.Item) {
        if let call = item.call { #expect(waitingCalls.removeFirst() == call.number) }
        if case .began(let download) = item.event { toldTransition[Int(download.identifier)!] = true }
        if case .paused(let download) = item.event { toldTransition[Int(download.identifier)!] = false }
      }
      for _ in 0..<300 {
        let name = random.below(4)
        switch random.below(6) {
        case 0: _ = inbox.add(.progress(download(name), totalWritten: 1, totalExpected: 2))
        case 1:
          let isBegin = random.chance(2)
          _ = inbox.add(isBegin ? .began(download(name)) : .paused(download(name)))
          lastTransition[name] = isBegin
        case 2:
          number += 1
          waitingCalls.append(number)
          _ = inbox.add(.finished(download(name), path: "/"), call: .init(connection: 1, number: number))
        case 3:
          guard let call = waitingCalls.randomElement(using: &random) else { continue }
          #expect(inbox.withdraw(.init(connection: 1, number: call)))
          waitingCalls.removeAll { $0 == call }
        default: if let item = inbox.next() { take(item) }
        }
        #expect(inbox.count <= waitingCalls.count + 8)
      }
      while let item = inbox.next() { take(item) }
      #expect(waitingCalls.isEmpty && toldTransition == lastTransition && inbox.count == 0)
    }
  }
}

/// `#expect` calls no mutating methods.
private final class Inbox {
  private var inbox = DelegateInbox()

  var count: Int { inbox.count }
  @discardableResult
  func add(_ event: ServiceProtocol.DelegateEvent, call: DelegateInbox.CallID? = nil) -> Bool {
    inbox.add(event, call: call)
  }
  func next() -> DelegateInbox.Item? { inbox.next() }
  func withdraw(_ call: DelegateInbox.CallID) -> Bool { inbox.withdraw(call) }
  func withdrawAll(of connection: UInt64) { inbox.withdrawAll(of: connection) }
}
