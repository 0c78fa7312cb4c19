/// How a host and an extension are connected.
///
/// Corresponds to Apple's `AppExtensionConfiguration`. There is no `accept(connection:)`: Linux has no XPC, and a host
/// calls an extension through its table of entry points instead.
@MainActor @preconcurrency
public protocol AppExtensionConfiguration: Sendable {}
