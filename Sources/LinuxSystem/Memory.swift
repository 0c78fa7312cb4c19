internal import CLinux

package enum Memory {
  /// For a process that lives long beside others: what is free goes back. Before other threads start.
  package static func keepSmall() { ol_keep_memory_small() }
}
