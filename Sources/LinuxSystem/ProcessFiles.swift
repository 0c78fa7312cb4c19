internal import Glibc

/// /proc (proc(5)), by which files are opened again and processes are known.
package enum ProcessFiles {
  /// Why nothing is begun on this machine; nil: /proc is there.
  package static var lack: String? {
    access("/proc/self/fd", F_OK) == 0
      ? nil
      : "no /proc is mounted here (proc(5)), by which it opens files again and knows processes: mount it, as 'mount -t proc proc /proc' does"
  }
}
