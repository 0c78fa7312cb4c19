internal import HostProtocol

/// What the caller of one plugin holds of it: handles and memory. The addresses are the plugin's word: they are passed back to it and to
/// nobody else. A pure value.
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

  mutating func gave(callbacks count: Int) { nextCallback = (nextCallback + count) % PreparedCallback.numbers }

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

  mutating func settle(handles count: Int) { expectedHandles -= count }

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

  /// What came of it; nil for an address where no memory can be.
  mutating func settle(bytes count: Int, at address: UInt64?) -> PluginMemory? {
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

  private func block(_ memory: PluginMemory) throws(Refusal) -> Block {
    guard memory.plugin == plugin else { throw Refusal(description: "\(memory) belongs to another plugin") }
    guard let block = blocks[memory.number] else { throw Refusal(description: "\(memory) has been freed") }
    return block
  }
}
