/// What a fork server has loaded before its first fork, which its runners begin with.
enum Preload: Hashable, CaseIterable, Sendable {
  /// Swift's runtime, which the runner itself needs. A fork of such a process is made, and ended, in less time.
  case runtime
  /// Foundation as well: a plugin that needs it would take longer to load it than for all the rest of a wake.
  case foundation

  init(for image: PluginImage) { self = image.needsFoundation ? .foundation : .runtime }
}
