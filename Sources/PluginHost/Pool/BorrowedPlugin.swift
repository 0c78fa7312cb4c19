internal import Synchronization

/// What a borrower of a pool leaves in a plugin.
struct BorrowedPlugin {
  let plugin: Plugin

  func leftovers() async -> PoolMachine.Leftovers {
    var left = plugin.holdings.withLock { $0.leftovers }
    guard !left.isBusy else { return left }
    // That a plugin is idle is known without asking the watchdog's thread.
    switch plugin.lane.occupation {
    case .free: break
    case .queued: left.isBusy = true
    case .unknown: left.isBusy = await plugin.core.isBusy(plugin.run)
    }
    return left
  }

  /// Frees memory and releases callbacks. Whether the plugin is alive afterwards.
  func takeBack() async -> Bool {
    let (callbacks, memory) = plugin.holdings.withLock { ($0.allCallbacks, $0.allMemory) }
    do throws(HostError) {
      for callback in callbacks { try await plugin.release(callback) }
      for piece in memory { try await plugin.free(piece) }
    } catch {
      return false
    }
    return !plugin.lane.isOver
  }
}
