internal import AssetModel
internal import Glibc
internal import LinuxSystem

/// What is found right by its digests, in files that the journal knows or doesn't.
extension StagingFile {
  /// Looks for a file that the journal doesn't know (any more), under its own name or else one of `others`, and for chunks in
  /// it. nil: there is nothing to be had. The chunks that are found right are on the disk when this returns, so that they may
  /// be called durable.
  func salvage(_ list: ChunkList, others: [String]) throws(SystemCallError) -> ChunkMap.Found? {
    close()
    isNameDurable = false
    var begun: String?
    for candidate in [name] + others where try take(candidate) {
      let found = try find(list)
      if !found.verified.isEmpty { return try adopt(candidate, found, list) }
      if begun == nil, !found.prefixes.isEmpty { begun = candidate }
    }
    guard let begun, try take(begun) else {
      close()
      return nil
    }
    return try adopt(begun, try find(list), list)
  }

  private func adopt(
    _ candidate: String, _ found: ChunkMap.Found, _ list: ChunkList
  ) throws(SystemCallError) -> ChunkMap.Found {
    if candidate != name {
      let directory = destination.staging.number
      do {
        try files.rename(candidate, in: directory, to: name, in: directory)
      } catch {
        guard error.code == EEXIST else { throw error }
        // Under the own name lies what was of no use.
        try FileLock.with(name, in: directory) { () throws(SystemCallError) in try files.remove(name, in: directory) }
        try files.rename(candidate, in: directory, to: name, in: directory)
      }
    }
    // What lies beyond the end belongs to no chunk, and would be handed over with them.
    let number = try open()
    if try files.status(of: number).size > list.totalSize { try files.truncate(number, to: list.totalSize) }
    try synchronizeData()
    return found
  }

  /// Opens `candidate` if it can be a staging file: a regular file of ours that has no second name.
  private func take(_ candidate: String) throws(SystemCallError) -> Bool {
    close()
    let found: OwnedDescriptor
    do {
      found = try files.open(candidate, in: destination.staging.number, O_RDWR | O_NONBLOCK, mode: 0)
    } catch {
      switch error.code {
      // None there, or not a regular file. Anything else may pass: no reason to throw bytes away.
      case ENOENT, ELOOP, EISDIR, EXDEV, ENXIO, ENODEV, EACCES: return false
      default: throw error
      }
    }
    let status = try files.status(of: found.number)
    guard status.isRegularFile, status.owner == geteuid(), status.links == 1, status.size > 0 else { return false }
    do {
      try take(found, candidate)
    } catch {
      // Another process writes to it. Under the own name there is no other; one of another generation isn't needed.
      if error.code == EWOULDBLOCK, candidate != name { return false }
      throw error
    }
    return true
  }

  /// Chunks beside those of `known` whose digests are right, and the beginnings of others: each is written from its start on,
  /// so up to the first hole there is something. What it is, the chunk's digest will say.
  func find(_ list: ChunkList, besides known: [UInt8] = []) throws(SystemCallError) -> ChunkMap.Found {
    let number = try open()
    let size = min(try files.status(of: number).size, list.totalSize)
    var bits = [UInt8](repeating: 0, count: (list.count + 7) / 8)
    var found = ChunkMap.Found()
    var hole: Int64 = 0
    for chunk in 0..<list.count where !ChunkMap.isSet(chunk, known) {
      let range = list.range(of: chunk)
      guard range.lowerBound < size else { break }
      if hole <= range.lowerBound { hole = min(try files.firstHole(in: number, from: range.lowerBound), size) }
      if hole >= range.upperBound {
        guard try isRight(chunk, list) else { continue }
        bits[chunk / 8] |= 1 << (chunk % 8)
        found.verified = bits
      } else if hole - range.lowerBound > Self.page {
        // The last page may have been written in part.
        found.prefixes[chunk] = hole - range.lowerBound - Self.page
      }
    }
    return found
  }

  private static let page: Int64 = 4096
}
