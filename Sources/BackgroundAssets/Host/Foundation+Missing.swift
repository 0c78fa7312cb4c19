// Members of Apple's Foundation that downloader extensions use and that Linux's lacks.

extension ProcessInfo {
  /// Always false: the host decides when an extension is woken.
  public var isLowPowerModeEnabled: Bool { false }

  /// How hot the machine is.
  public enum ThermalState: Int, Sendable { case nominal, fair, serious, critical }

  /// Always nominal.
  public var thermalState: ThermalState { .nominal }

  /// Never posted.
  public static let thermalStateDidChangeNotification = Notification.Name(
    "NSProcessInfoThermalStateDidChangeNotification")

  /// False: this is Linux.
  public var isMacCatalystApp: Bool { false }
  /// False: this is Linux.
  public var isiOSAppOnMac: Bool { false }
}

extension Notification.Name {
  /// Never posted.
  // swift-format-ignore: AlwaysUseLowerCamelCase
  /// Never posted here.
  public static let NSProcessInfoPowerStateDidChange = Notification.Name("NSProcessInfoPowerStateDidChangeNotification")
}

extension NSError {
  /// Those that lie under `NSUnderlyingErrorKey`.
  public var underlyingErrors: [any Error] { (userInfo[NSUnderlyingErrorKey] as? any Error).map { [$0] } ?? [] }
}

extension NSKeyedUnarchiver {
  /// The objects of an archived array, all of which are of one class.
  ///
  /// - Parameters:
  ///   - type: The class.
  ///   - data: The archive.
  /// - Throws: What `unarchivedObject(ofClasses:from:)` throws.
  /// - Returns: nil where the archive holds something else.
  public static func unarchivedArrayOfObjects<Element: NSObject & NSCoding>(
    ofClass type: Element.Type, from data: Data
  ) throws -> [Element]? {
    let objects = try unarchivedArrayOfObjects(ofClasses: [type], from: data)
    let elements = objects?.compactMap { $0 as? Element }
    return elements?.count == objects?.count ? elements : nil
  }

  /// The objects of an archived array, each of which is of one of these classes.
  ///
  /// - Parameters:
  ///   - types: The classes.
  ///   - data: The archive.
  /// - Throws: What `unarchivedObject(ofClasses:from:)` throws.
  /// - Returns: nil where the archive holds something else.
  public static func unarchivedArrayOfObjects(ofClasses types: [AnyClass], from data: Data) throws -> [Any]? {
    (try unarchivedObject(ofClasses: [NSArray.self] + types, from: data) as? NSArray).map { Array($0) }
  }
}

extension URLError {
  /// Why a network mustn't be used.
  public enum NetworkUnavailableReason: Int, Sendable { case cellular, expensive, constrained }

  /// Always nil: which network is used is the host's affair.
  public var networkUnavailableReason: NetworkUnavailableReason? { nil }

  /// Always nil: the host keeps what it has received, and resumes by itself.
  public var downloadTaskResumeData: Data? { nil }

  /// Why the system ended a task in the background.
  public enum BackgroundTaskCancelledReason: Int, Sendable {
    case userForceQuitApplication, backgroundUpdatesDisabled, insufficientSystemResources
  }

  /// Always nil.
  public var backgroundTaskCancelledReason: BackgroundTaskCancelledReason? { nil }
}

extension URLError.Code {
  /// As on Apple's platforms, where every number is a code; one that Foundation doesn't know here is `.unknown`. Taken where
  /// Foundation's own initialiser, which answers nil then, doesn't fit.
  @_disfavoredOverload
  public init(rawValue: Int) { self = Self.known(rawValue) ?? .unknown }

  /// Nil for what Foundation doesn't know here. Through the protocol, which means Foundation's initialiser.
  static func known(_ number: Int) -> URLError.Code? {
    func make<Code: RawRepresentable<Int>>(_: Code.Type) -> Code? { Code(rawValue: number) }
    return make(URLError.Code.self)
  }
}
