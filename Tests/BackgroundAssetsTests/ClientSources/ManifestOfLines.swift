import BackgroundAssets
import Dispatch
import Foundation
import RegexBuilder

@main struct ManifestOfLines: BADownloaderExtension {
  func downloads(for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo) -> Set<BADownload>
  {
    let text = (try? String(contentsOf: manifestURL, encoding: .utf8)) ?? ""
    var set = Set<BADownload>()
    let semver = Regex {
      OneOrMore(.digit)
      "."
      OneOrMore(.digit)
    }
    for line in text.split(whereSeparator: \.isNewline) where line.contains(semver) || line.hasPrefix("http") {
      let parts = line.components(separatedBy: ",")
      guard parts.count == 3, let size = Int(parts[2].trimmingCharacters(in: .whitespaces)),
        let url = URLComponents(string: parts[1])?.url
      else { continue }
      let (inserted, member) = set.insert(
        BAURLDownload(
          identifier: parts[0], request: URLRequest(url: url), essential: request == .install, fileSize: size,
          applicationGroupIdentifier: "group.com.example.client", priority: .max))
      assert(inserted, member.identifier)
    }
    let formatter = ByteCountFormatter()
    formatter.countStyle = .file
    formatter.allowedUnits = [.useMB]
    print(
      formatter.string(fromByteCount: 1_234_567), ByteCountFormatter.string(fromByteCount: 3_000, countStyle: .decimal))
    print(set.map(\.identifier).sorted(), set.contains { $0.isEssential }, set.filter { $0.priority == .max }.count)
    return set.union([]).subtracting([])
  }
}
