internal import CCurl
internal import LinuxSystem

/// libcurl, which brings some twenty libraries: loading them takes as long as fetching a small file.
package enum CurlLibrary {
  /// Loads it on a thread of its own, beside what a command does before its first download. A library that is missing is
  /// told of by the first use alone.
  package static func loadAhead() {
    try? Threads.detach("outrider.curl") { oc_load_ahead() }
  }
}
