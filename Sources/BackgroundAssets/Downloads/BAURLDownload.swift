/// A download of one URL into an app group. Corresponds to Apple's `BAURLDownload`.
///
/// The initializers check nothing: an invalid value is reported when the download is scheduled, as an error, or to
/// `backgroundDownload(_:failedWithError:)` when it was returned from `downloads(for:manifestURL:extensionInfo:)`.
open class BAURLDownload: BADownload, @unchecked Sendable {
  /// Creates a download.
  ///
  /// - Parameters:
  ///   - identifier: Names the download for both the app and the extension.
  ///   - request: https; URL, method, header fields and body are used.
  ///   - essential: Whether it is part of the installation. Only for install and update requests.
  ///   - fileSize: The exact size of the transfer in bytes, greater than zero.
  ///   - applicationGroupIdentifier: The app group in whose container the finished file is stored.
  ///   - priority: The rank among the downloads of the app.
  public init(
    identifier: String, request: URLRequest, essential: Bool, fileSize: Int, applicationGroupIdentifier: String,
    priority: BADownload.Priority
  ) {
    super.init(
      record: DownloadRecord(
        identifier: identifier, request: request, essential: essential, fileSize: fileSize,
        applicationGroupIdentifier: applicationGroupIdentifier, priority: priority),
      state: .created)
  }

  /// Creates a download that isn't essential, with the default priority.
  ///
  /// - Parameters:
  ///   - identifier: Unique within the app; at most 1,024 bytes.
  ///   - request: What is asked for: https, with method, body and headers.
  ///   - fileSize: Bytes of the file, more than 0.
  ///   - applicationGroupIdentifier: The group whose container the file goes to.
  public convenience init(
    identifier: String, request: URLRequest, fileSize: Int, applicationGroupIdentifier: String
  ) {
    self.init(
      identifier: identifier, request: request, essential: false, fileSize: fileSize,
      applicationGroupIdentifier: applicationGroupIdentifier, priority: .default)
  }

  /// Creates a download of unknown size with the default priority.
  ///
  /// - Parameters:
  ///   - identifier: Unique within the app; at most 1,024 bytes.
  ///   - request: What is asked for: https, with method, body and headers.
  ///   - applicationGroupIdentifier: The group whose container the file goes to.
  @available(*, deprecated, message: "Use init(identifier:request:fileSize:applicationGroupIdentifier:)")
  public convenience init(identifier: String, request: URLRequest, applicationGroupIdentifier: String) {
    self.init(
      identifier: identifier, request: request, essential: false, fileSize: 0,
      applicationGroupIdentifier: applicationGroupIdentifier, priority: .default)
    forgetFileSize()
  }

  /// Creates a download of unknown size.
  @available(
    *, deprecated, message: "Use init(identifier:request:essential:fileSize:applicationGroupIdentifier:priority:)"
  )
  /// Creates a download of unknown size.
  ///
  /// - Parameters:
  ///   - identifier: Unique within the app; at most 1,024 bytes.
  ///   - request: What is asked for: https, with method, body and headers.
  ///   - applicationGroupIdentifier: The group whose container the file goes to.
  ///   - priority: Which of the app's downloads goes first.
  public convenience init(
    identifier: String, request: URLRequest, applicationGroupIdentifier: String, priority: BADownload.Priority
  ) {
    self.init(
      identifier: identifier, request: request, essential: false, fileSize: 0,
      applicationGroupIdentifier: applicationGroupIdentifier, priority: priority)
    forgetFileSize()
  }

  /// Not a designated one: a subclass in another module would inherit none beside an initialiser that it can't see.
  override convenience init(record: DownloadRecord, state: BADownload.State) {
    // Never nil for what isn't an archive.
    self.init(coder: RecordCoder(record: record, state: state))!
  }

  public required init?(coder: NSCoder) { super.init(coder: coder) }
}
