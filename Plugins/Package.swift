// swift-tools-version: 6.2
// Example plugins, as a developer outside this repository would build them: on the public product alone.
import PackageDescription

let package = Package(
  name: "Plugins",
  products: [
    .library(name: "SessionsDownloader", type: .dynamic, targets: ["SessionsDownloader"])
  ],
  dependencies: [
    .package(name: "Outrider", path: "..")
  ],
  targets: [
    .target(
      name: "SessionsDownloader",
      dependencies: [.product(name: "BackgroundAssets", package: "Outrider")],
      path: "SessionsDownloader",
      exclude: ["Info.plist"])
  ],
  swiftLanguageModes: [.v6]
)
