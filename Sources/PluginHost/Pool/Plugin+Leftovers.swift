internal import Synchronization

// What a borrower of a pool leaves in a plugin.
extension Plugin {
  func leftovers() async -> PoolMachine.Leftovers {
    var left = holdings.withLock { $0.leftovers }
    guard !left.isBusy else { return left }
    // That a plugin rests is known without asking the watchdog's thread.
    switch lane.occupation {
    case .free: break
    case .queued: left.isBusy = true
    case .unknown: left.isBusy = await core.isBusy(run)
    }
    return left
  }

  /// Frees memory and releases callbacks. Whether the plugin is alive afterwards.
  func takeBack() async -> Bool {
    let (callbacks, memory) = holdings.withLock { ($0.allCallbacks, $0.allMemory) }
    do throws(HostError) {
      for callback in callbacks { try await release(callback) }
      for piece in memory { try await free(piece) }
    } catch {
      return false
    }
    return !lane.isOver
  }
}
