// swift-format-ignore-file: UseSynthesizedInitializer

import BackgroundAssets
import ExtensionFoundation

@available(iOS 16.4, macOS 13.3, tvOS 18.4, visionOS 2.4, *)
@main
struct AvailabilityChecks: BADownloaderExtension {
  typealias Downloads = Set<BADownload>
  static let decoder: PropertyListDecoder = .init()

  init() {}

  func downloads(for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo) -> Downloads {
    struct Pack: Decodable {
      var name: String
      var href: String
      var bytes: Int
      var tags: [String]?
    }
    guard let data = try? Data(contentsOf: manifestURL), let packs = try? Self.decoder.decode([Pack].self, from: data)
    else { return .init() }
    let remaining = extensionInfo.restrictedEssentialDownloadSizeRemaining.map { $0 as Int } ?? .max
    var total = 0
    return packs.sorted { $0.bytes < $1.bytes }.prefix {
      total += $0.bytes
      return total <= remaining
    }.reduce(into: Downloads()) { set, pack in
      guard let url = URL(string: pack.href, relativeTo: URL(string: "https://cdn.example.com/assets/"))?.absoluteURL
      else { return }
      var request = URLRequest(url: url)
      request.addValue("Bearer token", forHTTPHeaderField: "Authorization")
      request.httpMethod = "GET"
      request.allowsCellularAccess = false
      request.networkServiceType = .background
      set.insert(
        BAURLDownload(
          identifier: pack.name, request: request, essential: request.url != nil, fileSize: pack.bytes,
          applicationGroupIdentifier: "group.com.example.client", priority: .default))
    }
  }
}
