/// What the service says about the app when it asks for downloads. Corresponds to Apple's `BAAppExtensionInfo`.
///
/// Clients can't create one, but a test's double of it by `init(coder:)`.
open class BAAppExtensionInfo: NSObject, NSSecureCoding, @unchecked Sendable {
  // @unchecked: NSObject isn't Sendable; both properties are constant.

  private let sizeRemaining: Int?
  private let essentialSizeRemaining: Int?

  /// Bytes that may still be scheduled under `BADownloadAllowance`; nil when nothing is restricted.
  open var restrictedDownloadSizeRemaining: Int? { sizeRemaining }

  /// Bytes that may still be scheduled under `BAEssentialDownloadAllowance`; nil when nothing is restricted.
  open var restrictedEssentialDownloadSizeRemaining: Int? { essentialSizeRemaining }

  init(restrictedDownloadSizeRemaining: Int?, restrictedEssentialDownloadSizeRemaining: Int?) {
    sizeRemaining = restrictedDownloadSizeRemaining
    essentialSizeRemaining = restrictedEssentialDownloadSizeRemaining
    super.init()
  }

  open class var supportsSecureCoding: Bool { true }

  public required init?(coder: NSCoder) {
    sizeRemaining = coder.decodeObject(of: NSNumber.self, forKey: ArchiveKey.size)?.intValue
    essentialSizeRemaining = coder.decodeObject(of: NSNumber.self, forKey: ArchiveKey.essentialSize)?.intValue
    super.init()
  }

  open func encode(with coder: NSCoder) {
    coder.encode(sizeRemaining.map(NSNumber.init(value:)), forKey: ArchiveKey.size)
    coder.encode(essentialSizeRemaining.map(NSNumber.init(value:)), forKey: ArchiveKey.essentialSize)
  }

  private enum ArchiveKey {
    static let size = "restrictedDownloadSizeRemaining"
    static let essentialSize = "restrictedEssentialDownloadSizeRemaining"
  }
}
