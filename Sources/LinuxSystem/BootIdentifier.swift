/// Tells this boot of the machine from all others (random(4)).
package enum BootIdentifier {
  /// nil where `/proc` doesn't say it.
  package static var current: String? {
    (try? Files.text(of: "/proc/sys/kernel/random/boot_id", limit: 64)).map(text)
  }

  /// One without the end of its line, with which some were written down.
  package static func text(_ written: String) -> String { String(written.prefix { !$0.isNewline }) }
}
