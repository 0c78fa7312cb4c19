// The names are those of what dlsym(3) finds.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Foundation
import FoundationNetworking

/// Does once what a downloader extension usually does, so that the processes forked afterwards share the pages that it
/// writes: caches, lazily made metadata, the tables of ICU.
///
/// Starts no thread, since only the thread that forks goes on in a child: hence no URL session, no queue and no task, here or
/// in anything that is called from here. `Tests/check-preload` watches over it.
@c
public func outrider_preload() {
  Warmup.decoding()
  Warmup.documents()
  Warmup.requests()
  Warmup.dates()
  Warmup.text()
  Warmup.errors()
  Warmup.files()
}

/// The part of it that nearly every content request does. What this touches is mapped in a runner before anyone wants it;
/// the rest comes when it is wanted, because each page that is mapped also takes its time at the process's end.
@c
public func outrider_rehearse() {
  Warmup.decoding()
  Warmup.requests()
  Warmup.files()
}

private enum Warmup {
  private struct Catalogue: Codable {
    struct Asset: Codable, Hashable {
      var id: String
      var title: String?
      var url: URL
      var size: Int
      var weight: Double
      var essential: Bool
      var tags: [String: String]
      var published: Date
    }

    var assets: [Asset]
  }

  private static let manifest = Data(
    #"""
    {"assets": [{"id": "a", "title": "Ä\u00e9", "url": "https://example.com/a?b=c", "size": 1, "weight": 0.5,
      "essential": true, "tags": {"k": "v"}, "published": "2026-01-02T03:04:05Z"}]}
    """#.utf8)

  private static func catalogue(_ data: Data) -> Catalogue? {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    decoder.keyDecodingStrategy = .useDefaultKeys
    return try? decoder.decode(Catalogue.self, from: data)
  }

  static func decoding() {
    guard let catalogue = catalogue(manifest) else { return }
    _ = Set(catalogue.assets)
  }

  static func documents() {
    let data = manifest
    if let catalogue = catalogue(data) { _ = try? JSONEncoder().encode(catalogue) }
    // What a malformed manifest leads to.
    _ = catalogue(Data("{}".utf8))
    _ = (try? JSONSerialization.jsonObject(with: data)) as? [String: Any]
    _ = try? PropertyListSerialization.propertyList(from: Data("<plist><dict/></plist>".utf8), format: nil)
  }

  static func requests() {
    guard let url = URL(string: "https://example.com/directory/file.bin?version=1#part") else { return }
    var request = URLRequest(url: url.appendingPathComponent("part"), cachePolicy: .reloadIgnoringLocalCacheData)
    request.httpMethod = "POST"
    request.setValue("value", forHTTPHeaderField: "Name")
    _ = request.allHTTPHeaderFields
    _ = URLComponents(url: url, resolvingAgainstBaseURL: true)?.queryItems
    _ = URLCredential(user: "user", password: "password", persistence: .none)
    _ = URLProtectionSpace(
      host: "example.com", port: 443, protocol: "https", realm: nil,
      authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
  }

  static func dates() {
    let date = Date()
    _ = ISO8601DateFormatter().string(from: date)
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.dateFormat = "yyyy-MM-dd HH:mm:ss"
    _ = formatter.date(from: formatter.string(from: date))
    _ = Calendar.current.dateComponents([.day], from: date, to: date.addingTimeInterval(1))
    _ = date.description
  }

  static func text() {
    _ = String(format: "%d %@ %.2f", 1, "a" as NSString, 2.5)
    _ = "A b".lowercased().components(separatedBy: " ").joined(separator: "-").trimmingCharacters(in: .whitespaces)
    _ = "a\u{e9}" == "a\u{65}\u{301}"
    _ = "key=value".firstMatch(of: #/(\w+)=(\w+)/#)?.output
    _ = try? NSRegularExpression(pattern: "[a-z]+").firstMatch(in: "abc", range: NSRange(location: 0, length: 3))
    _ = UUID().uuidString
    _ = Data("text".utf8).base64EncodedString()
    _ = ByteCountFormatter.string(fromByteCount: 1 << 20, countStyle: .file)
  }

  static func errors() {
    let error = NSError(domain: NSURLErrorDomain, code: -1, userInfo: [NSLocalizedDescriptionKey: "text"])
    _ = (error as any Error).localizedDescription
    _ = CocoaError(.fileNoSuchFile).localizedDescription
    _ = (URLError(.timedOut) as NSError).code
  }

  static func files() {
    let manager = FileManager.default
    _ = manager.fileExists(atPath: "/nonexistent")
    _ = try? manager.attributesOfItem(atPath: "/")
    _ = try? manager.moveItem(atPath: "/nonexistent/a", toPath: "/nonexistent/b")
    _ = try? Data(contentsOf: URL(fileURLWithPath: "/proc/self/cmdline"), options: .mappedIfSafe)
    _ = URL(fileURLWithPath: "/a/b.c", isDirectory: false).deletingPathExtension().lastPathComponent
    _ = NSKeyedArchiver(requiringSecureCoding: true)
  }
}
