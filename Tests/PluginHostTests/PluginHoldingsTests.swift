import Basics
import HostProtocol
import TestSupport
import Testing

@testable import PluginHost

/// What a caller holds of a plugin: nothing else is taken for it.
@Suite(.timeLimit(.minutes(1))) struct PluginHoldingsTests {
  private func sentence(_ body: () throws(PluginHoldings.Refusal) -> Void) -> String {
    do throws(PluginHoldings.Refusal) {
      try body()
      return ""
    } catch { return error.description }
  }

  @Test("an address has one handle until it is released, and then another one") func handles() throws {
    var holdings = PluginHoldings(plugin: 1, memoryLimit: 100)
    let foundFirst = holdings.handle(to: 4096)
    let first = try #require(foundFirst)
    let same = holdings.handle(to: 4096)
    #expect(same == first)
    let none = holdings.handle(to: 0)
    #expect(none == nil)
    let foundSecond = holdings.handle(to: .max)
    let second = try #require(foundSecond)
    #expect(second != first)
    #expect(try holdings.address(of: first) == 4096)
    #expect(try holdings.address(of: second) == .max)
    try holdings.release(first)
    #expect(
      sentence { () throws(PluginHoldings.Refusal) in try holdings.release(first) } == "handle 1 has been released")
    let foundAgain = holdings.handle(to: 4096)
    let again = try #require(foundAgain)
    #expect(again != first)
    #expect(throws: PluginHoldings.Refusal.self) { try holdings.address(of: first) }
  }

  @Test("another plugin's handles and memory are refused") func foreign() throws {
    var (ours, theirs) = (PluginHoldings(plugin: 1, memoryLimit: 100), PluginHoldings(plugin: 2, memoryLimit: 100))
    _ = ours.handle(to: 4096)
    let foundHandle = theirs.handle(to: 4096)
    let handle = try #require(foundHandle)
    #expect(throws: PluginHoldings.Refusal(description: "handle 1 belongs to another plugin")) {
      try ours.address(of: handle)
    }
    try ours.expect(bytes: 8)
    _ = ours.allocated(bytes: 8, at: 4096)
    try theirs.expect(bytes: 8)
    let foundMemory = theirs.allocated(bytes: 8, at: 4096)
    let memory = try #require(foundMemory)
    #expect(throws: PluginHoldings.Refusal(description: "memory 1 of 8 bytes belongs to another plugin")) {
      try ours.address(of: memory, offset: 0)
    }
    #expect(throws: PluginHoldings.Refusal.self) { try ours.remove(memory) }
    #expect(ours.bytes == 8)
  }

  private func callback(_ number: UInt8, of plugin: UInt64 = 1) -> PluginCallback {
    PluginCallback(signature: "void()", registration: .init(plugin: plugin, number: number)) { _ in nil }
  }

  @Test(
    "whatever is registered and released, no two callbacks have one number, and none is taken for another",
    arguments: 0..<20)
  func callbackNumbers(_ seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    var holdings = PluginHoldings(plugin: 1, memoryLimit: 100)
    var (live, gone) = ([UInt8: PluginCallback](), [PluginCallback]())
    for step in UInt64(1)...2000 {
      if random.chance(2) {
        guard live.count < PreparedCallback.maxRegistered else {
          #expect(throws: PluginHoldings.Refusal.self) { try holdings.reserveCallback() }
          continue
        }
        let number = try holdings.reserveCallback()
        #expect(live[number] == nil && number < PreparedCallback.numbers)
        let made = callback(number)
        if random.chance(8) {
          // The plugin didn't take it.
          holdings.vacate(callback: number)
          gone.append(made)
        } else {
          holdings.register(made, number, at: step * 16)
          live[number] = made
          #expect(try holdings.address(of: made) == step * 16)
        }
      } else if let (number, made) = live.sorted(by: { $0.key < $1.key }).randomElement(using: &random) {
        let removed = try holdings.remove(made)
        #expect(removed.number == number)
        #expect(throws: PluginHoldings.Refusal.self) { try holdings.remove(made) }
        // Until the plugin has given it up, the number is no other handle's.
        #expect(holdings.freeCallback(from: Int(number)) != Int(number))
        if random.chance(4) {
          holdings.register(made, number, at: removed.address)
        } else {
          holdings.vacate(callback: number)
          live[number] = nil
          gone.append(made)
        }
      }
      // The numbers of a call's own: as many as it may have, and none that stays.
      var next = holdings.nextCallback
      for _ in 0..<PreparedCallback.maxCount {
        let number = holdings.freeCallback(from: next)
        #expect(live[UInt8(number)] == nil)
        next = (number + 1) % PreparedCallback.numbers
      }
      if let old = gone.randomElement(using: &random) {
        #expect(throws: PluginHoldings.Refusal(description: "the callback has been released")) {
          try holdings.address(of: old)
        }
      }
      #expect(holdings.hasCallbacks == !live.isEmpty && holdings.allCallbacks.count == live.count)
      #expect(holdings.leftovers.holdings == live.count)
    }
    #expect(throws: PluginHoldings.Refusal(description: "the callback belongs to another plugin")) {
      try holdings.address(of: callback(0, of: 2))
    }
    #expect(throws: PluginHoldings.Refusal.self) {
      try holdings.address(of: PluginCallback(signature: "void()") { _ in nil })
    }
  }

  @Test("so many handles are held, and what calls under way may bring counts") func fullTable() throws {
    var holdings = PluginHoldings(plugin: 1, memoryLimit: 100)
    for address in 1...UInt64(PluginHoldings.maxHandles) - 2 { _ = holdings.handle(to: address) }
    try holdings.expect(handles: 2)
    #expect(throws: PluginHoldings.Refusal.self) { try holdings.expect(handles: 1) }
    holdings.release(handles: 2)
    try holdings.expect(handles: 1)
    holdings.release(handles: 1)
    _ = holdings.handle(to: 1 << 40)
    _ = holdings.handle(to: 1 << 41)
    #expect(throws: PluginHoldings.Refusal.self) { try holdings.expect(handles: 1) }
    let last = holdings.handle(to: 1 << 40)
    try holdings.release(try #require(last))
    try holdings.expect(handles: 1)
  }

  @Test(
    "memory is given out within the limit, and within its bounds",
    arguments: [
      (0, 8, true), (8, 0, true), (7, 1, true), (7, 2, false), (9, 0, false), (-1, 1, false), (0, -1, false),
      (.max, .max, false), (1, .max, false),
    ] as [(Int, Int, Bool)])
  func bounds(_ offset: Int, _ count: Int, _ fits: Bool) throws {
    var holdings = PluginHoldings(plugin: 1, memoryLimit: 8)
    #expect(throws: PluginHoldings.Refusal.self) { try holdings.expect(bytes: 9) }
    #expect(throws: PluginHoldings.Refusal.self) { try holdings.expect(bytes: 0) }
    #expect(throws: PluginHoldings.Refusal.self) { try holdings.expect(bytes: .min) }
    try holdings.expect(bytes: 8)
    #expect(throws: PluginHoldings.Refusal.self) { try holdings.expect(bytes: 1) }
    let foundMemory = holdings.allocated(bytes: 8, at: 4096)
    let memory = try #require(foundMemory)
    let address = try? holdings.address(of: memory, offset: offset, count: count)
    #expect(address == (fits ? 4096 + UInt64(offset) : nil))
  }

  @Test("an address where no memory can be gives none, and its bytes are free again") func liedAddress() throws {
    var holdings = PluginHoldings(plugin: 1, memoryLimit: 8)
    for address in [nil, 0, .max, .max - 7] as [UInt64?] {
      try holdings.expect(bytes: 8)
      let memory = holdings.allocated(bytes: 8, at: address)
      #expect(memory == nil)
      #expect(holdings.bytes == 0)
    }
  }

  @Test("memory isn't freed under a call, nor twice, nor used afterwards") func use() throws {
    var holdings = PluginHoldings(plugin: 1, memoryLimit: 8)
    try holdings.expect(bytes: 8)
    let foundMemory = holdings.allocated(bytes: 8, at: 4096)
    let memory = try #require(foundMemory)
    holdings.use(memory)
    holdings.use(memory)
    holdings.unuse(memory)
    #expect(
      sentence { () throws(PluginHoldings.Refusal) in _ = try holdings.remove(memory) }
        == "memory 1 of 8 bytes is used by a call that is under way")
    holdings.unuse(memory)
    let address = try holdings.remove(memory)
    #expect(address == 4096)
    #expect(
      sentence { () throws(PluginHoldings.Refusal) in _ = try holdings.remove(memory) }
        == "memory 1 of 8 bytes has been freed")
    #expect(throws: PluginHoldings.Refusal.self) { try holdings.address(of: memory, offset: 0) }
    // A call that ends after the memory is gone harms nothing.
    holdings.unuse(memory)
  }

  @Test("whatever is done in whatever order, the bytes that are held are those of what isn't freed") func anyOrder()
    throws
  {
    var random = SeededGenerator(seed: 40)
    var holdings = PluginHoldings(plugin: 1, memoryLimit: 1000)
    var (held, freed): ([PluginMemory], [PluginMemory]) = ([], [])
    for step in 0..<5000 {
      if random.chance(2) {
        let count = random.below(400)
        let fits = count > 0 && count + held.reduce(0) { $0 + $1.byteCount } <= 1000
        let isExpected = (try? holdings.expect(bytes: count)) != nil
        #expect(isExpected == fits)
        guard isExpected else { continue }
        let isThere = !random.chance(4)
        let memory = holdings.allocated(bytes: count, at: isThere ? UInt64(4096 * (step + 1)) : nil)
        #expect((memory != nil) == isThere)
        if let memory { held.append(memory) }
      } else if !held.isEmpty {
        let memory = held.remove(at: random.below(held.count))
        _ = try holdings.remove(memory)
        freed.append(memory)
      }
      if let memory = freed.last { #expect(throws: PluginHoldings.Refusal.self) { try holdings.remove(memory) } }
      for memory in held.prefix(2) { _ = try holdings.address(of: memory, offset: memory.byteCount) }
      #expect(holdings.bytes == held.reduce(0) { $0 + $1.byteCount })
    }
  }
}
