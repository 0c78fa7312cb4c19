// Sources for Apple platforms import BackgroundAssets alone and expect `URL`, `URLRequest`, `AppExtension` and
// `@Observable` with it.
@_exported public import ExtensionFoundation
@_exported public import Foundation
@_exported public import FoundationNetworking
@_exported public import Observation
