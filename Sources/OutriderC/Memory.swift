internal import COutrider
internal import PluginHost

/// Memory within a plugin, and whose it is.
final class HeldMemory: Sendable {
  let plugin: Plugin
  let memory: PluginMemory

  init(_ plugin: Plugin, _ memory: PluginMemory) { (self.plugin, self.memory) = (plugin, memory) }
}

let memories = Objects<HeldMemory>()

private var freed: String { Process.absence("this memory was freed, or never was any") }

/// Allocates memory in a plugin: `outrider_allocate` of outrider.h, which has the parameters, results and errors.
@_cdecl("outrider_allocate")
public func allocate(
  _ plugin: OpaquePointer?, _ count: Int, _ memory: UnsafeMutablePointer<OpaquePointer?>?,
  _ error: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
  error?.pointee = nil
  memory?.pointee = nil
  guard let found = plugins[plugin] else { return fail(OUTRIDER_USAGE, pluginIsGone, error) }
  guard let memory else { return fail(OUTRIDER_USAGE, "an allocation needs a place for its memory", error) }
  return finish(error) { () async throws(HostError) in
    try await found.allocate(count)
  } then: {
    memory.pointee = memories.add(HeldMemory(found, $0))
  }
}

/// Writes to memory of a plugin: `outrider_write` of outrider.h, which has the parameters, results and errors.
@_cdecl("outrider_write")
public func write(
  _ memory: OpaquePointer?, _ offset: Int, _ bytes: UnsafeRawPointer?, _ count: Int,
  _ error: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
  error?.pointee = nil
  guard let found = memories[memory] else { return fail(OUTRIDER_USAGE, freed, error) }
  guard count == 0 || bytes != nil, (0...found.memory.byteCount).contains(count) else {
    return fail(OUTRIDER_USAGE, "\(found.memory) doesn't take \(count) bytes", error)
  }
  let copy = Array(UnsafeRawBufferPointer(start: bytes, count: count))
  return finish(error) { () async throws(HostError) in
    try await found.plugin.write(copy, to: found.memory, at: offset)
  } then: { _ in
  }
}

/// Reads memory of a plugin: `outrider_read` of outrider.h, which has the parameters, results and errors.
@_cdecl("outrider_read")
public func read(
  _ memory: OpaquePointer?, _ offset: Int, _ bytes: UnsafeMutableRawPointer?, _ count: Int,
  _ error: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
  error?.pointee = nil
  guard let found = memories[memory] else { return fail(OUTRIDER_USAGE, freed, error) }
  guard count == 0 || bytes != nil else { return fail(OUTRIDER_USAGE, "a read needs a place for its bytes", error) }
  return finish(error) { () async throws(HostError) in
    try await found.plugin.read(found.memory, at: offset, count: count)
  } then: { read in
    bytes?.copyMemory(from: read, byteCount: min(read.count, count))
  }
}

/// Frees memory of a plugin: `outrider_memory_free` of outrider.h, which has the parameters, results and errors.
@_cdecl("outrider_memory_free")
public func freeMemory(_ memory: OpaquePointer?) {
  guard let found = memories.remove(memory) else { return }
  let free = { @Sendable in (try? await found.plugin.free(found.memory)) != nil }
  // A function that the plugin waits for can't have it free anything: that is done when the call is over. Where the plugin has ended,
  // nothing is left to do.
  if !wait(for: free) { Task.detached { _ = await free() } }
}
