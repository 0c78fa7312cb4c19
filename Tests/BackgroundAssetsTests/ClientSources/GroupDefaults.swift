import BackgroundAssets

struct Settings {
  @UserDefault("lastRequest", default: 0) var last: Int
}
@propertyWrapper struct UserDefault<Value> {
  let key: String
  let value: Value
  init(_ key: String, default value: Value) {
    self.key = key
    self.value = value
  }
  var wrappedValue: Value {
    get { UserDefaults(suiteName: "group.com.example.client")?.object(forKey: key) as? Value ?? value }
    nonmutating set { UserDefaults(suiteName: "group.com.example.client")?.set(newValue, forKey: key) }
  }
}
@main struct GroupDefaults: BADownloaderExtension {
  func downloads(for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo) -> Set<BADownload>
  {
    let d = UserDefaults(suiteName: "group.com.example.client")!
    d.register(defaults: ["level": 3])
    let n = d.integer(forKey: "runs") + 1
    d.set(n, forKey: "runs")
    d.set(Date(), forKey: "date")
    d.set(["a": 1], forKey: "dict")
    d.synchronize()
    let url = Bundle.main.object(forInfoDictionaryKey: "BaseURL") as? String ?? "https://cdn.example.com"
    print(
      "runs", n, Bundle.main.infoDictionary?["CFBundleIdentifier"] ?? "", url, ProcessInfo.processInfo.environment.count
    )
    return Set(
      [("a", 1), ("b", 2)].map {
        BAURLDownload(
          identifier: $0.0, request: URLRequest(url: URL(string: url)!.appendingPathComponent($0.0)), essential: false,
          fileSize: $0.1, applicationGroupIdentifier: "group.com.example.client", priority: .default)
      })
  }
}
