internal import Basics
internal import StrictYAML
internal import Yams

/// What people write to make an app: a short YAML file that stands for three property lists.
///
///     identifier: com.example.sessions
///     version: "1.0"
///     manifestURL: https://assets.example.com/manifest.json
///     appGroups: [group.com.example.sessions]
///     downloadAllowance: 200MiB
///     essentialDownloadAllowance: 20MiB
///     allowedDomains: [assets.example.com]
///
/// What isn't understood is refused: a misspelt key would be an allowance that isn't there.
struct AppRecipe {
  /// Of the app's `Info.plist`.
  private(set) var info: [String: Any] = [:]
  private(set) var appGroups: [String]?
  private(set) var extensionIdentifier: String?

  /// What each key stands for; those without a counterpart are handled one by one.
  private static let texts = [
    "identifier": "CFBundleIdentifier", "name": "CFBundleName", "version": "CFBundleShortVersionString",
    "build": "CFBundleVersion", "manifestURL": AppKeys.manifestURL, "appGroupID": AppKeys.appGroupID,
  ]
  private static let flags = ["isManaged": AppKeys.isManaged, "usesAppleHosting": AppKeys.usesAppleHosting]
  private static let sizes = [
    "maxInstallSize": AppKeys.maxInstallSize, "essentialMaxInstallSize": AppKeys.essentialMaxInstallSize,
  ]
  private static let allowances = [
    "downloadAllowance": AppKeys.allowance, "essentialDownloadAllowance": AppKeys.essentialAllowance,
  ]
  static let keys = [
    "identifier", "name", "version", "build", "manifestURL", "appGroups", "downloadAllowance",
    "essentialDownloadAllowance", "allowedDomains", "maxInstallSize", "essentialMaxInstallSize",
    "extensionIdentifier", "appGroupID", "isManaged", "usesAppleHosting",
  ]

  init(parsing text: String, file: String) throws(BundleError) {
    guard text.contains(where: { !$0.isWhitespace }) else {
      throw BundleError(
        .invalid, file, "is empty", remedy: "it has keys such as \(Self.keys.prefix(3).joined(separator: ", "))")
    }
    let document: YAMLDocument
    do throws(YAMLFileError) {
      document = try YAMLDocument(text, file: file, noun: "an app")
    } catch {
      throw BundleError(.invalid, "\(file):\(error.line):\(error.column)", error.message)
    }
    try read(document.root, file)
  }

  private mutating func read(_ root: Node, _ file: String) throws(BundleError) {
    let known = "the known keys are \(Self.keys.joined(separator: ", "))"
    guard case .mapping(let mapping) = root else { throw Self.error(root, file, "an app is a map; \(known)") }
    var restrictions: [String: Any] = [:]
    for (keyNode, value) in mapping {
      let key = try Self.scalar(keyNode, file, "a key of an app")
      guard Self.keys.contains(key) else {
        throw Self.error(keyNode, file, "\(Self.shown(key)) isn't a key of an app; \(known)")
      }
      if let name = Self.texts[key] {
        info[name] = try Self.scalar(value, file, key)
      } else if let name = Self.flags[key] {
        info[name] = try Self.flag(value, file, key)
      } else if let name = Self.sizes[key] {
        info[name] = try Self.bytes(value, file, key)
      } else if let name = Self.allowances[key] {
        restrictions[name] = try Self.bytes(value, file, key)
      } else if key == "allowedDomains" {
        restrictions[AppKeys.domains] = try Self.list(value, file, key)
      } else if key == "appGroups" {
        appGroups = try Self.list(value, file, key)
      } else {
        extensionIdentifier = try Self.scalar(value, file, key)
      }
    }
    if !restrictions.isEmpty { info[AppKeys.restrictions] = restrictions }
  }

  private static func scalar(_ node: Node, _ file: String, _ what: String) throws(BundleError) -> String {
    let core = "tag:yaml.org,2002:"
    guard case .scalar(let scalar) = node, node.tag.rawValue.hasPrefix(core), node.tag.rawValue != core + "null" else {
      throw error(node, file, "\(what) is a single value")
    }
    return scalar.string
  }

  private static func list(_ node: Node, _ file: String, _ key: String) throws(BundleError) -> [String] {
    guard case .sequence(let sequence) = node else { throw error(node, file, "\(key) is a list") }
    var result: [String] = []
    for item in sequence { result.append(try scalar(item, file, "an item of \(key)")) }
    return result
  }

  private static func flag(_ node: Node, _ file: String, _ key: String) throws(BundleError) -> Bool {
    let text = try scalar(node, file, key)
    guard text == "true" || text == "false" else {
      throw error(node, file, "\(key) is \(shown(text)); it is true or false")
    }
    return text == "true"
  }

  private static func bytes(_ node: Node, _ file: String, _ key: String) throws(BundleError) -> Int {
    let text = try scalar(node, file, key)
    if text == "0" { return 0 }
    guard let value = Quantity.bytes(text) else {
      throw error(node, file, "\(key) is \(shown(text)); it is a size such as 0, 512KiB, 8MiB or 1GiB")
    }
    return value
  }

  private static func error(_ node: Node, _ file: String, _ message: String) -> BundleError {
    BundleError(.invalid, "\(file):\(node.mark?.line ?? 1):\(node.mark?.column ?? 1)", message)
  }

  private static func shown(_ text: String) -> String { String(text.prefix(60)).debugDescription }
}
