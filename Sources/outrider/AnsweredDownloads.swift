internal import AssetModel
internal import PluginHost

/// The downloads that an extension asked for in a run: what `--finished` and `--failed` may name.
struct AnsweredDownloads {
  private let downloads: [Download]

  init(_ verdict: DownloadRules.Verdict, scheduled: [Download]) { downloads = verdict.accepted + scheduled }

  /// Throws `HostError.usage` for the first identifier that the extension didn't ask for: no host would hand it over.
  func check(_ identifiers: [String], of option: String) throws(HostError) {
    guard let unknown = identifiers.first(where: { self[$0] == nil }) else { return }
    let named = downloads.prefix(Self.maxNamed).map { Printable.text($0.identifier, limit: 60) }
    let others = downloads.count - named.count
    let known =
      named.isEmpty
      ? "it asked for none"
      : "it asked for \(named.joined(separator: ", "))\(others > 0 ? " and \(others) others" : "")"
    throw .usage("\(option) \(Printable.text(unknown, limit: 60)): the extension didn't ask for it; \(known)")
  }

  subscript(identifier: String) -> Download? {
    downloads.first { $0.identifier.utf8.elementsEqual(identifier.utf8) }
  }

  private static let maxNamed = 10
}
