import Testing

@testable import AppBundles

@Suite struct AppBundlesTests {}
