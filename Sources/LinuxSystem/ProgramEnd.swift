internal import CLinux

/// The end of a program whose threads are still at work.
package enum ProgramEnd {
  /// Ends the process at once (_exit(2)): no exit handler runs, and nothing is written that stdio(3) still holds. OpenSSL's
  /// handler frees what another thread that hashes at that moment uses (OPENSSL_cleanup(3)); the process would crash in its
  /// last moment. Any thread.
  package static func leave(_ status: Int32) -> Never { ol_exit_now(status) }
}
