internal import CLinux

package enum Memory {
  /// For a process that lives long beside others: what is free goes back. Before other threads start.
  ///
  /// `releasesCode`: half of the code that starting took is needed never again, and what is comes back from the page cache.
  /// That costs more than it brings where the process ends soon.
  package static func keepSmall(releasesCode: Bool = true) {
    ol_keep_memory_small()
    if releasesCode { ol_release_code() }
  }

  /// Gives back what is free, and the code that isn't needed now, after much work that doesn't come again soon. Takes as
  /// long as a walk through all free blocks; any thread.
  package static func releaseUnused() {
    ol_trim_memory()
    ol_release_code()
  }

  /// Bytes that this process has allocated and not freed, mapped ones included (mallinfo2(3)).
  package static var inUse: Int { Int(ol_memory_in_use()) }
}
