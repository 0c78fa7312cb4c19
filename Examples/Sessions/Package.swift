// swift-tools-version: 6.2
// A sample app, as a developer outside this repository would build it: on the public product alone.
import PackageDescription

let package = Package(
  name: "Sessions",
  dependencies: [
    .package(name: "Outrider", path: "../..")
  ],
  targets: [
    .executableTarget(
      name: "Sessions",
      dependencies: [.product(name: "BackgroundAssets", package: "Outrider")],
      path: "Sources")
  ],
  swiftLanguageModes: [.v6]
)
