import BackgroundAssets

@main struct Archiving: BADownloaderExtension {
  func downloads(for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo) -> Set<BADownload>
  {
    do {
      let info = try NSKeyedArchiver.archivedData(withRootObject: extensionInfo, requiringSecureCoding: true)
      let back = try NSKeyedUnarchiver.unarchivedObject(ofClass: BAAppExtensionInfo.self, from: info)
      print("info", back?.restrictedDownloadSizeRemaining ?? -1)
      let download = BAURLDownload(
        identifier: "k", request: URLRequest(url: URL(string: "https://cdn.example.com/k")!), essential: false,
        fileSize: 5, applicationGroupIdentifier: "group.com.example.client", priority: .default)
      let data = try NSKeyedArchiver.archivedData(withRootObject: [download] as NSArray, requiringSecureCoding: true)
      let list =
        try NSKeyedUnarchiver.unarchivedObject(ofClasses: [NSArray.self, BAURLDownload.self], from: data)
        as? [BAURLDownload]
      print("list", list?.first?.identifier ?? "nil", list?.first == download, BADownload.supportsSecureCoding)
      let one = try NSKeyedUnarchiver.unarchivedObject(
        ofClass: BADownload.self,
        from: NSKeyedArchiver.archivedData(withRootObject: download, requiringSecureCoding: true))
      print(
        "one", one?.uniqueIdentifier == download.uniqueIdentifier,
        one.map { type(of: $0) == BAURLDownload.self } ?? false)
      let copy = download.copy() as! BAURLDownload
      print("copy", copy == download, copy !== download, copy.state == .created)
      return [download, copy]
    } catch {
      print("error", error)
      return []
    }
  }
}
