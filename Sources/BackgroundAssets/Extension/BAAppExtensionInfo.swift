/// What the service says about the app when it asks for downloads. Corresponds to Apple's `BAAppExtensionInfo`.
///
/// Clients can't create one.
public class BAAppExtensionInfo: NSObject, NSSecureCoding, @unchecked Sendable {
  // @unchecked: NSObject isn't Sendable; both properties are constant.

  /// Bytes that may still be scheduled under `BADownloadAllowance`; nil when nothing is restricted.
  public let restrictedDownloadSizeRemaining: Int?

  /// Bytes that may still be scheduled under `BAEssentialDownloadAllowance`; nil when nothing is restricted.
  public let restrictedEssentialDownloadSizeRemaining: Int?

  init(restrictedDownloadSizeRemaining: Int?, restrictedEssentialDownloadSizeRemaining: Int?) {
    self.restrictedDownloadSizeRemaining = restrictedDownloadSizeRemaining
    self.restrictedEssentialDownloadSizeRemaining = restrictedEssentialDownloadSizeRemaining
    super.init()
  }

  public class var supportsSecureCoding: Bool { true }

  public required init?(coder: NSCoder) {
    restrictedDownloadSizeRemaining = coder.decodeObject(of: NSNumber.self, forKey: ArchiveKey.size)?.intValue
    restrictedEssentialDownloadSizeRemaining =
      coder.decodeObject(of: NSNumber.self, forKey: ArchiveKey.essentialSize)?.intValue
    super.init()
  }

  public func encode(with coder: NSCoder) {
    coder.encode(restrictedDownloadSizeRemaining.map(NSNumber.init(value:)), forKey: ArchiveKey.size)
    coder.encode(restrictedEssentialDownloadSizeRemaining.map(NSNumber.init(value:)), forKey: ArchiveKey.essentialSize)
  }

  private enum ArchiveKey {
    static let size = "restrictedDownloadSizeRemaining"
    static let essentialSize = "restrictedEssentialDownloadSizeRemaining"
  }
}
