import Synchronization

/// One transfer that is or can be scheduled. Corresponds to Apple's `BADownload`.
///
/// Clients never create one: they create a ``BAURLDownload``. Safe to use from any thread. Two objects are equal if their
/// ``uniqueIdentifier`` is, so that a download is found again among those that the manager fetches.
public class BADownload: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
  // @unchecked: NSObject isn't Sendable; the record is immutable and the state is behind a mutex.
  let record: DownloadRecord
  private let currentState: Mutex<State>

  /// The one way to make a download, shared by all subclasses, so that copies keep their class.
  required init(record: DownloadRecord, state: State) {
    self.record = record
    self.currentState = Mutex(state)
    super.init()
  }

  /// Where the download stands, as far as this process has been told.
  public var state: State { currentState.withLock { $0 } }

  /// The client's name for the download; at most one scheduled download of an app has it.
  public var identifier: String { record.identifier }

  /// A UUID that tells this download from earlier and later ones with the same ``identifier``.
  public var uniqueIdentifier: String { record.uniqueIdentifier }

  /// The download's rank among those of its app.
  public var priority: Priority { Priority(record.priority) }

  /// Whether the download is part of the app's installation.
  public var isEssential: Bool { record.isEssential }

  /// Returns a new, unscheduled download of the same file that isn't essential and may be scheduled through the manager.
  public func removingEssential() -> Self {
    var record = self.record
    record.isEssential = false
    record.uniqueIdentifier = DownloadRecord.newUniqueIdentifier()
    return Self(record: record, state: .created)
  }

  func move(to state: State) { currentState.withLock { $0 = state } }

  // MARK: Copying and equality

  public func copy(with zone: NSZone? = nil) -> Any { Self(record: record, state: state) }

  override public func isEqual(_ object: Any?) -> Bool {
    (object as? BADownload)?.record.uniqueIdentifier == record.uniqueIdentifier
  }

  override public var hash: Int { record.uniqueIdentifier.hashValue }

  override public var description: String {
    "<\(type(of: self)) '\(identifier)' \(state) priority \(priority.rawValue)\(isEssential ? " essential" : "")>"
  }

  // MARK: Archiving

  public class var supportsSecureCoding: Bool { true }

  /// Reads what ``encode(with:)`` wrote; nil if anything is missing or malformed.
  public required init?(coder: NSCoder) {
    guard let data = coder.decodeObject(of: NSData.self, forKey: ArchiveKey.record),
      let record = try? JSONDecoder().decode(DownloadRecord.self, from: data as Data),
      let state = State(rawValue: coder.decodeInteger(forKey: ArchiveKey.state))
    else { return nil }
    self.record = record
    self.currentState = Mutex(state)
    super.init()
  }

  public func encode(with coder: NSCoder) {
    // A record holds strings, integers and data only, which JSON can always express.
    guard let data = try? JSONEncoder().encode(record) else { return }
    coder.encode(data as NSData, forKey: ArchiveKey.record)
    coder.encode(state.rawValue, forKey: ArchiveKey.state)
  }

  private enum ArchiveKey {
    static let record = "record"
    static let state = "state"
  }
}
