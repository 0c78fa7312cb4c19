import Glibc
import Synchronization

/// A directory in which a new version of an item is put together before it takes the old one's place.
///
/// In an extension it lies in a hidden folder of the container, which the host removes when the run is over, however that
/// ends: one rename then moves the new version. Elsewhere it is the caller's to remove, as on Apple's platforms.
enum ReplacementDirectory {
  static func make(for item: URL?) throws -> URL {
    let base = item.map(nearestExisting)
    let device = base.flatMap { status(of: $0)?.st_dev }
    for place in places(for: base) where device == nil || status(of: place)?.st_dev == device {
      if let made = make(in: place) { return URL(fileURLWithPath: made, isDirectory: true) }
    }
    throw FileManager.failure(.fileWriteUnknown, at: item ?? FileManager.default.temporaryDirectory)
  }

  /// Where one may be, best first. What isn't on the item's filesystem is passed over.
  private static func places(for base: String?) -> [String] {
    var places: [String] = []
    let home = NSHomeDirectory()
    if RunFolder.current != nil, base.map({ $0 == home || $0.utf8.starts(with: "\(home)/".utf8) }) ?? true {
      places.append(home)
    }
    places.append(FileManager.default.temporaryDirectory.path)
    guard let base else { return places }
    let isFolder = status(of: base).map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
    // Beside the item first: it may be a folder that is about to be replaced.
    places.append((base as NSString).deletingLastPathComponent)
    if isFolder { places.append(base) }
    return places
  }

  private static func make(in place: String) -> String? {
    let folder = place == NSHomeDirectory() ? RunFolder.current?.open() : nil
    let path = folder.map { "\($0)/\(UUID().uuidString)" } ?? "\(place)/.replacing-\(UUID().uuidString)"
    return mkdir(path, 0o700) == 0 ? path : nil
  }

  /// The item, or the folder in which it is to be.
  private static func nearestExisting(_ item: URL) -> String {
    var path = item.standardizedFileURL.path
    while status(of: path) == nil, path != "/", !path.isEmpty { path = (path as NSString).deletingLastPathComponent }
    return path
  }

  private static func status(of path: String) -> stat? {
    var status = stat()
    return lstat(path, &status) == 0 ? status : nil
  }
}

/// The folder that the host removes from the container at the end of the run.
private struct RunFolder {
  /// Nil where no host has loaded the process.
  static let current: RunFolder? = getenv("OUTRIDER_REPLACEMENTS").map {
    RunFolder(path: "\(NSHomeDirectory())/\(String(cString: $0))")
  }

  private let path: String
  /// Locked for as long as the process lives: what isn't, the next host takes for a leftover.
  private static let lock = Lock()

  /// Makes it where it isn't there.
  func open() -> String? {
    // The folder above it is the host's, which takes it away when it is empty.
    mkdir((path as NSString).deletingLastPathComponent, 0o700)
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { return nil }
    Self.lock.take(path)
    return path
  }

  /// Of an open file description: an extension may not call flock(2).
  private final class Lock: Sendable {
    /// F_OFD_SETLK, which Swift doesn't see (fcntl(2)).
    private static let setLock: CInt = 37
    private let descriptor = Mutex<CInt>(-1)

    /// Again where the extension has removed the folder in between, since that was another one.
    func take(_ path: String) {
      descriptor.withLock { descriptor in
        let opened = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard opened >= 0 else { return }
        var lock = Glibc.flock()
        // What is open for reading is locked for that, and so is a folder.
        lock.l_type = Int16(F_RDLCK)
        guard fcntl(opened, Self.setLock, &lock) == 0 else {
          close(opened)
          return
        }
        if descriptor >= 0 { close(descriptor) }
        descriptor = opened
      }
    }
  }
}
