internal import HostProtocol

/// What the caller of one plugin holds of it: handles and memory. The addresses are the plugin's word: they are passed back to it
/// only. A pure value.
struct PluginHoldings: Sendable {
  static let maxHandles = 65_536
  static let maxBlocks = 65_536

  /// Something that isn't, or is no longer, the plugin's; the sentence says so.
  struct Refusal: Error, Equatable {
    var description: String
  }

  private struct Block {
    var address: UInt64
    var count: Int
    /// Calls under way that were given it.
    var users = 0
  }

  let plugin: UInt64
  private let memoryLimit: Int
  private var addresses: [UInt64: UInt64] = [:]
  private var numbers: [UInt64: UInt64] = [:]
  private var lastHandle: UInt64 = 0
  /// Handles that calls under way may bring.
  private var expectedHandles = 0
  private var blocks: [UInt64: Block] = [:]
  private var lastBlock: UInt64 = 0
  /// Allocations that are under way.
  private var expectedBlocks = 0
  /// Bytes of all blocks, and of those that are being allocated.
  private(set) var bytes = 0

  /// The number of the next callback. They go round, so that one whose call is over isn't soon taken for another.
  private(set) var nextCallback = 0

  /// `memoryLimit`: bytes that all memory may have together.
  init(plugin: UInt64, memoryLimit: Int) {
    self.plugin = plugin
    self.memoryLimit = memoryLimit
  }

  // MARK: Callbacks

  /// Those that stay, and an address once the plugin has it.
  private var callbacks: [UInt8: (callback: PluginCallback?, address: UInt64)] = [:]

  /// Whether the plugin may call the host in any of its calls.
  var hasCallbacks: Bool { !callbacks.isEmpty }

  /// Those that can be released.
  var allCallbacks: [PluginCallback] { callbacks.keys.sorted().compactMap { callbacks[$0]?.callback } }

  /// The next callbacks of calls begin with this number.
  mutating func gave(callbacksBefore number: Int) { nextCallback = number }

  /// A number that none has which stays, from `number` on.
  func freeCallback(from number: Int) -> Int {
    let all = PreparedCallback.numbers
    return (0..<all).lazy.map { (number + $0) % all }.first { callbacks[UInt8($0)] == nil } ?? number
  }

  /// The number of one that is to stay.
  mutating func reserveCallback() throws(Refusal) -> UInt8 {
    guard callbacks.count < PreparedCallback.maxRegistered else {
      throw Refusal(
        description:
          "\(callbacks.count) callbacks are registered, and at most \(PreparedCallback.maxRegistered) may be: release some first"
      )
    }
    let number = freeCallback(from: nextCallback)
    nextCallback = (number + 1) % PreparedCallback.numbers
    callbacks[UInt8(number)] = (nil, 0)
    return UInt8(number)
  }

  mutating func register(_ callback: PluginCallback, _ number: UInt8, at address: UInt64) {
    callbacks[number] = (callback, address)
  }

  /// The number may be another one's.
  mutating func vacate(callback number: UInt8) { callbacks[number] = nil }

  func address(of callback: PluginCallback) throws(Refusal) -> UInt64 {
    guard let registration = callback.registration else {
      throw Refusal(description: "a callback that isn't registered is an argument of 'callback' only")
    }
    guard registration.plugin == plugin else { throw Refusal(description: "the callback belongs to another plugin") }
    guard let found = callbacks[registration.number], found.callback === callback else {
      throw Refusal(description: "the callback has been released")
    }
    return found.address
  }

  /// It is refused from now on. What it was, for one whose release fails.
  mutating func remove(_ callback: PluginCallback) throws(Refusal) -> (number: UInt8, address: UInt64) {
    let address = try address(of: callback)
    let number = callback.registration?.number ?? 0
    callbacks[number] = (nil, 0)
    return (number, address)
  }

  /// What is held, and whether calls are under way that bring or have more.
  var leftovers: PoolMachine.Leftovers {
    PoolMachine.Leftovers(
      handles: addresses.count, holdings: blocks.count + callbacks.count,
      isBusy: expectedHandles > 0 || expectedBlocks > 0 || blocks.values.contains { $0.users > 0 })
  }

  var allMemory: [PluginMemory] {
    blocks.keys.sorted().compactMap { number in
      blocks[number].map { PluginMemory(plugin: plugin, number: number, byteCount: $0.count) }
    }
  }

  // MARK: Handles

  /// Before a call that may bring so many.
  mutating func expect(handles count: Int) throws(Refusal) {
    guard addresses.count + expectedHandles + count <= Self.maxHandles else {
      throw Refusal(
        description:
          "\(addresses.count) handles of the plugin are held, and at most \(Self.maxHandles) may be: release some first"
      )
    }
    expectedHandles += count
  }

  /// So many that were expected have come or won't come.
  mutating func release(handles count: Int) { expectedHandles -= count }

  /// The handle for an address: the same for the same address until it is released. nil for NULL.
  mutating func handle(to address: UInt64) -> PluginHandle? {
    guard address != 0 else { return nil }
    if let number = numbers[address] { return PluginHandle(plugin: plugin, number: number) }
    lastHandle += 1
    numbers[address] = lastHandle
    addresses[lastHandle] = address
    return PluginHandle(plugin: plugin, number: lastHandle)
  }

  func address(of handle: PluginHandle) throws(Refusal) -> UInt64 {
    guard handle.plugin == plugin else { throw Refusal(description: "\(handle) belongs to another plugin") }
    guard let address = addresses[handle.number] else { throw Refusal(description: "\(handle) has been released") }
    return address
  }

  mutating func release(_ handle: PluginHandle) throws(Refusal) {
    numbers[try address(of: handle)] = nil
    addresses[handle.number] = nil
  }

  // MARK: Memory

  /// Before so many bytes are allocated.
  mutating func expect(bytes count: Int) throws(Refusal) {
    guard count > 0 else { throw Refusal(description: "memory has at least 1 byte; \(count) were asked for") }
    guard count <= memoryLimit - bytes else {
      throw Refusal(
        description:
          "\(count) bytes and the \(bytes) that are allocated are more than the plugin's memory limit of \(memoryLimit)"
      )
    }
    guard blocks.count + expectedBlocks < Self.maxBlocks else {
      throw Refusal(
        description: "\(Self.maxBlocks) pieces of memory are allocated, and no more may be: free some first")
    }
    bytes += count
    expectedBlocks += 1
  }

  /// The allocation that was expected is over: its memory, or nil where `address` is none or can't be memory.
  mutating func allocated(bytes count: Int, at address: UInt64?) -> PluginMemory? {
    expectedBlocks -= 1
    guard let address, address != 0, !address.addingReportingOverflow(UInt64(count)).overflow else {
      bytes -= count
      return nil
    }
    lastBlock += 1
    blocks[lastBlock] = Block(address: address, count: count)
    return PluginMemory(plugin: plugin, number: lastBlock, byteCount: count)
  }

  /// The address of so many bytes within it.
  func address(of memory: PluginMemory, offset: Int, count: Int = 0) throws(Refusal) -> UInt64 {
    let block = try block(memory)
    guard offset >= 0, count >= 0, offset <= block.count, count <= block.count - offset else {
      throw Refusal(description: "\(memory) has no \(count) bytes from \(offset) on")
    }
    return block.address + UInt64(offset)
  }

  /// A call begins that was given it: until `unuse` it isn't freed.
  mutating func use(_ memory: PluginMemory) { blocks[memory.number]?.users += 1 }

  mutating func unuse(_ memory: PluginMemory) { blocks[memory.number]?.users -= 1 }

  /// Takes it away; its address, for freeing.
  mutating func remove(_ memory: PluginMemory) throws(Refusal) -> UInt64 {
    let block = try block(memory)
    guard block.users == 0 else { throw Refusal(description: "\(memory) is used by a call that is under way") }
    blocks[memory.number] = nil
    bytes -= block.count
    return block.address
  }

  /// Holds again what `remove` took away: it wasn't freed.
  mutating func restore(_ memory: PluginMemory, at address: UInt64) {
    blocks[memory.number] = Block(address: address, count: memory.byteCount)
    bytes += memory.byteCount
  }

  private func block(_ memory: PluginMemory) throws(Refusal) -> Block {
    guard memory.plugin == plugin else { throw Refusal(description: "\(memory) belongs to another plugin") }
    guard let block = blocks[memory.number] else { throw Refusal(description: "\(memory) has been freed") }
    return block
  }
}
