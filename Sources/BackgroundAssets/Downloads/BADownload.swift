import Synchronization

/// One transfer that is or can be scheduled. Corresponds to Apple's `BADownload`.
///
/// Clients never create one: they create a ``BAURLDownload``. Safe to use from any thread. Two objects are equal if their
/// ``uniqueIdentifier`` is, so that a download is found again among those that the manager fetches.
///
/// A subclass, a test's double for one, may override what it likes: a host is told what the download was created with.
open class BADownload: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
  // @unchecked: NSObject isn't Sendable; the record changes in initialisers only and the state is behind a mutex.
  private(set) final var record: DownloadRecord
  private let currentState: Mutex<State>
  /// The service's name for it since it was scheduled again.
  private let renewedIdentifier: Mutex<String?>

  init(record: DownloadRecord, state: State) {
    self.record = record
    self.currentState = Mutex(state)
    renewedIdentifier = Mutex(nil)
    super.init()
  }

  /// Where the download stands, as far as this process has been told.
  open var state: State { currentState.withLock { $0 } }

  /// The client's name for the download; at most one scheduled download of an app has it.
  open var identifier: String { record.identifier }

  /// A UUID that tells this download from earlier and later ones with the same ``identifier``.
  open var uniqueIdentifier: String { record.uniqueIdentifier }

  /// The download's rank among those of its app.
  open var priority: Priority { Priority(record.priority) }

  /// Whether the download is part of the app's installation.
  open var isEssential: Bool { record.isEssential }

  /// Returns a new, unscheduled download of the same file that isn't essential and may be scheduled through the manager.
  ///
  /// As ``copy(with:)``, it makes a subclass's object with `init(coder:)`; where that returns nil, this object is returned.
  open func removingEssential() -> Self {
    var record = self.record
    record.isEssential = false
    record.uniqueIdentifier = DownloadRecord.newUniqueIdentifier()
    return Self(coder: RecordCoder(record: record, state: .created)) ?? self
  }

  /// For initialisers, which have the object to themselves.
  final func forgetFileSize() { record.fileSize = nil }

  final func move(to state: State) { currentState.withLock { $0 = state } }

  /// Moves it only if no other thread has moved it meanwhile.
  final func moveOn(from states: [State], to state: State) {
    currentState.withLock { if states.contains($0) { $0 = state } }
  }

  /// What the host is told, whatever a subclass says.
  final var ownState: State { currentState.withLock { $0 } }

  /// The service's name for it: ``uniqueIdentifier``, which stays, or another one since it was scheduled again.
  final var serviceIdentifier: String { renewedIdentifier.withLock { $0 } ?? record.uniqueIdentifier }

  /// A download that has ended is another one to the service when it is scheduled again. Returns its state until now;
  /// nil: it hasn't ended.
  final func beginAnew() -> State? {
    let ended: State? = currentState.withLock { state in
      guard state == .failed || state == .finished else { return nil }
      defer { state = .created }
      return state
    }
    if ended != nil { renewedIdentifier.withLock { $0 = DownloadRecord.newUniqueIdentifier() } }
    return ended
  }

  /// The service has scheduled it under another name.
  final func rename(to name: String, in state: State) {
    renewedIdentifier.withLock { $0 = name }
    move(to: state)
  }

  // MARK: Copying and equality

  open func copy(with zone: NSZone? = nil) -> Any {
    let renewed = renewedIdentifier.withLock { $0 }
    return Self(coder: RecordCoder(record: record, state: ownState, renewedIdentifier: renewed)) ?? self
  }

  override open func isEqual(_ object: Any?) -> Bool {
    (object as? BADownload)?.record.uniqueIdentifier == record.uniqueIdentifier
  }

  override open var hash: Int { record.uniqueIdentifier.hashValue }

  override open var description: String {
    "<\(type(of: self)) '\(identifier)' \(state) priority \(priority.rawValue)\(isEssential ? " essential" : "")>"
  }

  // MARK: Archiving

  open class var supportsSecureCoding: Bool { true }

  /// Reads what `encode(with:)` wrote; nil if anything is missing or malformed.
  public required init?(coder: NSCoder) {
    if let coder = coder as? RecordCoder {
      record = coder.record
      currentState = Mutex(coder.state)
      renewedIdentifier = Mutex(coder.renewedIdentifier)
      super.init()
      return
    }
    guard let data = coder.decodeObject(of: NSData.self, forKey: ArchiveKey.record),
      let record = try? JSONDecoder().decode(DownloadRecord.self, from: data as Data),
      let state = State(rawValue: coder.decodeInteger(forKey: ArchiveKey.state))
    else { return nil }
    self.record = record
    self.currentState = Mutex(state)
    // Only what was scheduled again has one. Foundation takes an archive for damaged that is asked for what it hasn't.
    let renewed =
      coder.containsValue(forKey: ArchiveKey.renewedIdentifier)
      ? coder.decodeObject(of: NSString.self, forKey: ArchiveKey.renewedIdentifier) as String? : nil
    renewedIdentifier = Mutex(renewed)
    super.init()
  }

  open func encode(with coder: NSCoder) {
    // A record holds strings, integers and data only, which JSON can always express.
    guard let data = try? JSONEncoder().encode(record) else { return }
    coder.encode(data as NSData, forKey: ArchiveKey.record)
    coder.encode(ownState.rawValue, forKey: ArchiveKey.state)
    if let renewed = renewedIdentifier.withLock({ $0 }) {
      coder.encode(renewed as NSString, forKey: ArchiveKey.renewedIdentifier)
    }
  }

  private enum ArchiveKey {
    static let record = "record"
    static let state = "state"
    static let renewedIdentifier = "renewedIdentifier"
  }
}

/// Hands a download's values to the one initialiser that every subclass has, so that copies keep their class.
final class RecordCoder: NSCoder {
  let record: DownloadRecord
  let state: BADownload.State
  let renewedIdentifier: String?

  init(record: DownloadRecord, state: BADownload.State, renewedIdentifier: String? = nil) {
    self.record = record
    self.state = state
    self.renewedIdentifier = renewedIdentifier
    super.init()
  }
}
