// swift-tools-version: 6.2
// The floors of the house: a target imports only from floors below its own (checked by Tests/check-layers).
import Glibc
import PackageDescription

// Not every SwiftPM takes unsafe flags from a dependency with a version, which it checks out itself.
let isVersionedDependency = Context.packageDirectory.split(separator: "/").contains {
  $0 == "checkouts" || $0 == "registry"
}
// A type that the compiler knows is asked for directly, and not by a name that the runtime reads, with a search through all
// conformances for each of its requirements.
let direct: [SwiftSetting] =
  isVersionedDependency
  ? [] : [.unsafeFlags(["-Xfrontend", "-disable-concrete-type-metadata-mangled-name-accessors"])]

// An asynchronous requirement that is nonisolated(nonsending) would take a class of the main actor off it for that method.
let strictForClients: [SwiftSetting] =
  direct + [
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("ExistentialAny"),
    .treatAllWarnings(as: .error),
    .treatWarning("DeprecatedDeclaration", as: .warning),
  ]
// Tests run the code that users get, and take half the time; what asserts still does.
let optimised: [SwiftSetting] =
  isVersionedDependency ? [] : [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))]
let strict: [SwiftSetting] =
  optimised + [
    .enableUpcomingFeature("NonisolatedNonsendingByDefault")
  ] + strictForClients
let strictC: [CSetting] = [.define("_GNU_SOURCE"), .enableWarning("all"), .treatAllWarnings(as: .error)]

// 100,000 relocations take 20 KiB instead of 2.5 MiB. The C library understands them from 2.36 on.
let knowsPackedRelocations: Bool = {
  var text = [CChar](repeating: 0, count: 64)
  confstr(Int32(_CS_GNU_LIBC_VERSION), &text, text.count)
  let name = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  let version = name.split(separator: " ").last?.split(separator: ".").compactMap { Int($0) } ?? []
  return !version.lexicographicallyPrecedes([2, 36])
}()

// No libraries of Swift to find and relocate at each start, and 8 MiB less memory. lld, because the archives of Foundation
// refer to each other.
let selfContained =
  [
    "-static-stdlib", "-use-ld=lld", "-l_FoundationICU", "-l_FoundationCShims", "-l_FoundationCollections",
    "-lCoreFoundation",
  ] + (knowsPackedRelocations ? ["-Xlinker", "-z", "-Xlinker", "pack-relative-relocs"] : [])

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let heap = Target.Dependency.product(name: "HeapModule", package: "swift-collections")
let fields = Target.Dependency.product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let sqlite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")

let package = Package(
  name: "Outrider",
  products: [
    .library(name: "PluginHost", targets: ["PluginHost", "BuildsRunner"]),
    .library(name: "Downloads", targets: ["AssetModel", "AssetStore", "Downloads"]),
    .library(name: "AssetService", targets: ["AppBundles", "AssetService", "BuildsRunner", "ServiceProtocol"]),
    .library(name: "BackgroundAssets", targets: ["BackgroundAssets", "os", "OSLog", "ExtensionFoundation"]),
    .library(name: "OutriderPreload", type: .dynamic, targets: ["Preload"]),
    // liboutrider.so for C, and for what calls C: docs/embedding-c.md.
    .library(name: "OutriderC", type: .dynamic, targets: ["OutriderC", "BuildsRunner"]),
    .library(name: "OutriderHeaders", type: .dynamic, targets: ["HeaderReader"]),
    .executable(name: "outrider", targets: ["outrider"]),
    .executable(name: "outrider-runner", targets: ["outrider-runner"]),
    .executable(name: "outriderd", targets: ["outriderd"]),
  ],
  // Apple's compilers don't mention a deprecation to an app whose deployment target is before it.
  traits: [
    .trait(
      name: "DeploymentBefore27",
      description: "Doesn't deprecate the closure forms of BADownloadManager.withExclusiveControl.")
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.7.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
  ],
  targets: [
    // Floor 0: C.
    .target(name: "CExtension", cSettings: strictC),
    .target(name: "CLinux", cSettings: strictC),
    // What the programs of this package define in place of the C library.
    .target(name: "CPrograms", dependencies: ["CLinux"], cSettings: strictC),
    .systemLibrary(name: "CFFI", pkgConfig: "libffi", providers: [.apt(["libffi-dev"])]),
    .systemLibrary(name: "CSeccomp", pkgConfig: "libseccomp", providers: [.apt(["libseccomp-dev"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    // libcurl, loaded by whoever downloads.
    .target(name: "CCurl", cSettings: strictC, linkerSettings: [.linkedLibrary("dl")]),
    // libarchive, loaded by whoever unpacks an archive.
    .target(name: "CArchive", cSettings: strictC, linkerSettings: [.linkedLibrary("dl")]),
    // Reads C headers with libclang, as a plugin of our own: loaded by a runner alone, behind the walls.
    .target(name: "HeaderReader", cSettings: strictC, linkerSettings: [.linkedLibrary("dl")]),
    // Floor 0, too: what the standard library hasn't and several targets need. It imports the C library alone.
    .target(name: "Basics", swiftSettings: strict),
    // Floor 1: the operating system and the asset vocabulary, as values and owners; what people write.
    .target(name: "LinuxSystem", dependencies: ["Basics", "CLinux"], swiftSettings: strict),
    .target(name: "AssetModel", dependencies: ["Basics"], swiftSettings: strict),
    .target(name: "StrictYAML", dependencies: ["Basics", yams], swiftSettings: strict),
    // Floor 2: pure values and codecs.
    .target(
      name: "Sandbox", dependencies: ["Basics", "CSeccomp", "LinuxSystem", "StrictYAML", yams], swiftSettings: strict),
    .target(name: "HostProtocol", dependencies: ["AssetModel", "Basics"], swiftSettings: strict),
    .target(name: "Hashing", dependencies: ["AssetModel", "CCrypto"], swiftSettings: strict),
    .target(name: "PropertyLists", swiftSettings: strict),
    // What the service, its clients and the command line say to each other.
    .target(name: "ServiceProtocol", swiftSettings: strict),
    // Floor 3: the engines; they don't know each other.
    .target(
      name: "PluginHost",
      dependencies: [
        "AssetModel", "Basics", "CLinux", "Hashing", "HostProtocol", "LinuxSystem", "PropertyLists", "Sandbox", logging,
      ],
      swiftSettings: strict),
    .target(
      name: "RunnerKit",
      dependencies: ["AssetModel", "Basics", "CExtension", "CFFI", "CLinux", "HostProtocol", "LinuxSystem"],
      swiftSettings: strict),
    .target(
      name: "Downloads",
      dependencies: [
        "AssetModel", "Basics", "CCrypto", "CCurl", "CLinux", "Hashing", "LinuxSystem", fields, heap,
      ],
      swiftSettings: strict),
    // A scripted server on loopback, for tests and for `outrider serve`.
    .target(
      name: "DevelopmentOrigin",
      dependencies: ["Basics", "CLinux", "COpenSSL", "Hashing", "LinuxSystem", "StrictYAML", yams],
      swiftSettings: strict),
    .target(
      name: "AssetStore", dependencies: ["AssetModel", "Basics", "LinuxSystem", grdb, sqlite],
      swiftSettings: strict),
    // What the service decides, as values without I/O, clocks or randomness of their own.
    .target(name: "ServiceMachines", dependencies: ["AssetModel", "Basics"], swiftSettings: strict),
    // Apps as bundles: read, checked, made, unpacked and put in place.
    .target(
      name: "AppBundles",
      dependencies: ["AssetModel", "Basics", "CArchive", "CLinux", "LinuxSystem", "PropertyLists", "StrictYAML", yams],
      swiftSettings: strict),
    // A client's end of the connection to the service. Small: it lives inside apps.
    .target(name: "ServiceClient", dependencies: ["ServiceProtocol"], swiftSettings: strict),
    // What extensions compile against. It lives inside their .so and reaches the host through CExtension alone.
    .target(name: "ExtensionFoundation", swiftSettings: strict),
    .target(name: "COSModules", cSettings: strictC),
    .target(name: "os", dependencies: ["CExtension", "COSModules"], swiftSettings: strict),
    .target(name: "OSLog", dependencies: ["os"], swiftSettings: strict),
    .target(
      name: "BackgroundAssets",
      dependencies: ["CExtension", "ExtensionFoundation", "ServiceClient", "ServiceProtocol"],
      swiftSettings: strictForClients),
    // Floor 4: the service joins the engines.
    .target(
      name: "AssetService",
      dependencies: [
        "AppBundles", "AssetModel", "AssetStore", "Basics", "CLinux", "Downloads", "Hashing", "HostProtocol",
        "LinuxSystem", "PluginHost", "Sandbox", "ServiceMachines", "ServiceProtocol", heap, logging,
      ],
      swiftSettings: strict),
    // Policies described, compared and tested against real libraries.
    .target(
      name: "PolicyLab",
      dependencies: [
        "AssetModel", "Basics", "HostProtocol", "LinuxSystem", "PluginHost", "Sandbox", "StrictYAML", yams,
      ],
      swiftSettings: strict),
    // The host for C: its header, and what is behind it.
    .target(name: "COutrider", exclude: ["exports.map"], cSettings: strictC),
    .target(
      name: "OutriderC",
      dependencies: ["Basics", "COutrider", "HostProtocol", "LinuxSystem", "PluginHost", "Sandbox", "StrictYAML"],
      swiftSettings: strict,
      // Where Examples/embed-c/install puts Swift's runtime.
      // Nothing but what the header declares can be found, or be taken from somebody else's library, in a program that loads it. Swift's
      // threads stay, and so must their code.
      linkerSettings: [
        .unsafeFlags([
          "-Xlinker", "-soname", "-Xlinker", "liboutrider.so.1", "-Xlinker", "-z", "-Xlinker", "nodelete", "-Xlinker",
          "-rpath=$ORIGIN/outrider", "-Xlinker",
          "--version-script=\(Context.packageDirectory)/Sources/COutrider/exports.map",
        ])
      ]),
    // Loaded by the fork server before its first fork, so that every runner shares the pages.
    .target(name: "Preload", swiftSettings: strict),
    // Floor 5: executables.
    .executableTarget(
      name: "outrider",
      dependencies: [
        "AppBundles", "AssetModel", "AssetService", "AssetStore", "Basics", "CPrograms", "DevelopmentOrigin",
        "Downloads",
        "Hashing", "HostProtocol", "LinuxSystem", "PluginHost", "PolicyLab", "Sandbox", "ServiceClient",
        "ServiceProtocol",
        "StrictYAML", argumentParser,
      ],
      swiftSettings: strict,
      linkerSettings: [.unsafeFlags(selfContained, .when(configuration: .release))]),
    .executableTarget(name: "outrider-runner", dependencies: ["CLinux", "RunnerKit"], cSettings: strictC),
    // An executable that a library depends on is built with it, beside the program that is linked.
    .target(name: "BuildsRunner", dependencies: ["outrider-runner"], swiftSettings: strict),
    .executableTarget(
      name: "outriderd",
      dependencies: ["AssetService", "Basics", "CPrograms", "LinuxSystem", "ServiceProtocol", argumentParser],
      swiftSettings: strict,
      linkerSettings: [.unsafeFlags(selfContained, .when(configuration: .release))]),
    // Tests. Without the strict settings: they hold samples of what others write.
    .testTarget(
      name: "BackgroundAssetsTests",
      dependencies: ["BackgroundAssets", "CExtension", "ExtensionFoundation", "OSLog", "TestSupport", "os"],
      exclude: ["ClientSources"]),
    .testTarget(name: "AssetModelTests", dependencies: ["AssetModel", "Basics", "TestSupport"]),
    .testTarget(
      name: "PolicyLabTests",
      dependencies: [
        "AssetModel", "Basics", "HostProtocol", "PluginHost", "PolicyLab", "Sandbox", "StrictYAML", "TestSupport",
      ]),
    .testTarget(name: "BasicsTests", dependencies: ["Basics"]),
    .testTarget(name: "HashingTests", dependencies: ["Basics", "Hashing"]),
    .target(name: "TestSupport", dependencies: ["Basics", "CTestSupport"], path: "Tests/TestSupport"),
    .target(name: "CTestSupport", path: "Tests/CTestSupport", cSettings: strictC),
    .testTarget(name: "HostProtocolTests", dependencies: ["AssetModel", "Basics", "HostProtocol", "TestSupport"]),
    .testTarget(name: "LinuxSystemTests", dependencies: ["LinuxSystem", "TestSupport"]),
    .testTarget(name: "SandboxTests", dependencies: ["Basics", "Sandbox", "StrictYAML", "TestSupport"]),
    .testTarget(
      name: "RunnerKitTests",
      dependencies: ["Basics", "CLinux", "HostProtocol", "LinuxSystem", "RunnerKit", "TestSupport"]),
    .testTarget(
      name: "PluginHostTests",
      dependencies: [
        "AssetModel", "Basics", "CLinux", "HostProtocol", "LinuxSystem", "PluginHost", "Sandbox", "TestSupport",
      ]),
    .testTarget(
      name: "EndToEndTests",
      dependencies: [
        "AssetModel", "AssetStore", "Basics", "CTestSupport", "DevelopmentOrigin", "Downloads", "Hashing",
        "HostProtocol", "LinuxSystem", "PluginHost", "PolicyLab", "Sandbox", "ServiceClient", "ServiceProtocol",
        "TestSupport",
        "delivery-recorder", "outrider", "outrider-runner", "outriderd",
      ]),
    // An app that writes down every callback.
    .executableTarget(
      name: "delivery-recorder", dependencies: ["BackgroundAssets"], path: "Tests/DeliveryRecorder"),
    .testTarget(
      name: "DownloadsTests",
      dependencies: [
        "AssetModel", "AssetStore", "Basics", "CCurl", "COpenSSL", "DevelopmentOrigin", "Downloads", "Hashing",
        "LinuxSystem", "TestSupport", "interrupted-fetch", "kill-at-call", "outrider", "starved-fetch", heap,
      ]),
    // A fetch that kills itself at the nth write, synchronisation, rename or commit.
    .executableTarget(
      name: "interrupted-fetch", dependencies: ["AssetModel", "AssetStore", "Downloads", "LinuxSystem"],
      path: "Tests/InterruptedFetch"),
    // Kills a program at its nth system call that leaves a trace.
    .executableTarget(name: "kill-at-call", path: "Tests/KillAtCall", cSettings: strictC),
    // A fetch of several files in a process that runs out of descriptors.
    .executableTarget(
      name: "starved-fetch", dependencies: ["AssetModel", "AssetStore", "CPrograms", "Downloads", "LinuxSystem"],
      path: "Tests/StarvedFetch"),
    // Run by Examples/benchmark-downloads.
    .executableTarget(
      name: "queue-benchmark",
      dependencies: ["AssetModel", "AssetStore", "DevelopmentOrigin", "Downloads", "LinuxSystem"],
      path: "Tests/QueueBenchmark"),
    // Run by Examples/benchmark-service.
    .executableTarget(
      name: "service-benchmark",
      dependencies: ["BackgroundAssets", "DevelopmentOrigin", "LinuxSystem", "ServiceClient", "ServiceProtocol"],
      path: "Tests/ServiceBenchmark"),
    .testTarget(
      name: "AssetStoreTests",
      dependencies: ["AssetModel", "AssetStore", "LinuxSystem", "TestSupport", "store-writer", grdb]),
    // A process that writes to a store until it is killed.
    .executableTarget(name: "store-writer", dependencies: ["AssetModel", "AssetStore"], path: "Tests/StoreWriter"),
    .testTarget(
      name: "DevelopmentOriginTests",
      dependencies: ["Basics", "DevelopmentOrigin", "LinuxSystem", "StrictYAML", "TestSupport"]),
    .testTarget(name: "PropertyListsTests", dependencies: ["Basics", "PropertyLists", "TestSupport"]),
    .testTarget(
      name: "AppBundlesTests",
      dependencies: ["AppBundles", "Basics", "LinuxSystem", "TestSupport", "bundle-writer", "kill-at-call", "outrider"]),
    // An installation in a process of its own, to be killed.
    .executableTarget(name: "bundle-writer", dependencies: ["AppBundles"], path: "Tests/BundleWriter"),
    .testTarget(name: "ServiceProtocolTests", dependencies: ["Basics", "ServiceProtocol", "TestSupport"]),
    .testTarget(
      name: "ServiceMachinesTests", dependencies: ["AssetModel", "Basics", "ServiceMachines", "TestSupport"]),
    .testTarget(
      name: "ServiceClientTests",
      dependencies: ["BackgroundAssets", "Basics", "ServiceClient", "ServiceProtocol", "TestSupport"]),
    .testTarget(
      name: "AssetServiceTests",
      dependencies: [
        "AppBundles", "AssetModel", "AssetService", "AssetStore", "Basics", "Downloads", "LinuxSystem", "Sandbox",
        "ServiceClient", "ServiceMachines", "ServiceProtocol", "TestSupport", grdb, logging,
      ]),
    .testTarget(name: "OSTests", dependencies: ["os", "OSLog"]),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .gnu11
)
