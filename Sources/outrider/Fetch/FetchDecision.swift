internal import AssetModel
internal import Basics
internal import Downloads
internal import Glibc
internal import LinuxSystem

/// What a command does about a file that is there already.
enum FetchMode: Sendable, Equatable {
  /// It stays, and nothing takes its place.
  case keep
  case force
  /// The server is asked whether it has another version than the one that was fetched.
  case ifChanged
  /// The directory is the command's own: it has no file of the user's. The server is asked as with `ifChanged`.
  case ownPlace
}

/// What is done about one target, decided from what the journals and the directory say of it.
enum FetchDecision: Equatable {
  /// `id`: the download that brought it; nil: something else did.
  case complete(JobID?, name: String, bytes: Int64)
  case refuse(TransferFailure)
  /// `known`: fetched only if the server has another version than this one. `replaces`: what an earlier run of the
  /// command left, which may make way where the mode doesn't say that any file may.
  case fetch(known: KnownVersion?, replaces: FileVersion?)

  /// What this command's own journal says of the newest download to that place.
  enum ExistingFile: Equatable {
    case none
    /// It is finished, and its file is there under `name`.
    case intact(JobRecord, FileVersion)
    /// It is finished, and its file isn't what it was.
    case damaged(String)
    /// It is finished, and its file is what it was, which isn't what is wanted now.
    case outdated(FileVersion, String)
    /// It has its name already, and only has to be called done.
    case named
    /// It isn't finished; what it was going to replace, if anything.
    case open(replaces: FileVersion?)
  }

  /// What has the name of a target.
  enum Place: Equatable {
    case nothing
    /// Or a link that leads nowhere.
    case file
    case folder
    /// A device, a pipe or a socket, or what leads to one: there is no file whose place could be taken.
    case device

    init(_ path: String) {
      // /dev/stdout is such a link, whatever standard output is.
      let link = Files.link(path)
      if let link, link.hasPrefix("/proc/") || link.hasPrefix("/dev/") {
        self = .device
        return
      }
      guard let mode = Files.mode(of: path) else {
        self = link == nil ? .nothing : .file
        return
      }
      switch mode & S_IFMT {
      case S_IFREG: self = .file
      // A link to one is a name that can be taken.
      case S_IFDIR: self = link == nil ? .folder : .file
      default: self = .device
      }
    }
  }

  struct Facts {
    var mode: FetchMode
    var path: String
    var existing: ExistingFile = .none
    var sibling: FetchSiblings.Finding?
    /// Why no journal takes it.
    var rejection: TransferFailure?
    /// Where the newest download of it left its file, if that was under another name.
    var elsewhere: Elsewhere?
    /// A digest or a chunk list says what its bytes have to be.
    var isExpected = false
    var there = Place.nothing
    /// Bytes of that, if it is what is expected. Reads all of it.
    var fittingSize: () -> Int64? = { nil }
  }

  struct Elsewhere {
    var path: String
    var there: Place
  }

  private static let fetch = FetchDecision.fetch(known: nil, replaces: nil)

  static func about(_ given: Facts) -> FetchDecision {
    let facts = given.ofItsSubject
    if let found = facts.finished, facts.mode == .keep || facts.keepsExpected {
      let name = found.version.name ?? found.record.specification.fileName
      return .complete(found.id, name: name, bytes: found.record.finalSize ?? 0)
    }
    if case .inHand(let who) = facts.sibling { return .refuse(TransferFailure(.refused, detail: who)) }
    if facts.existing == .named { return fetch }
    if let rejection = facts.rejection { return .refuse(rejection) }
    if let detail = facts.whyNoFile { return .refuse(TransferFailure(.refused, errno: EEXIST, detail: detail)) }
    switch facts.mode {
    case .force: return .fetch(known: nil, replaces: facts.earlier.flatMap { $0.name == nil ? nil : $0 })
    case .ownPlace:
      return .fetch(known: facts.finished.flatMap { KnownVersion($0.record) }, replaces: facts.finished?.version)
    case .ifChanged:
      if let version = facts.earlier {
        return .fetch(known: facts.finished.flatMap { KnownVersion($0.record) }, replaces: version)
      }
    case .keep: break
    }
    guard facts.there == .file else { return fetch }
    // The digest identifies the file, no matter how it got there.
    if facts.difference != nil {
    } else if let size = facts.fittingSize() {
      return .complete(nil, name: String(facts.path.pathNames.last ?? ""), bytes: size)
    }
    return .refuse(TransferFailure(.refused, errno: EEXIST, detail: facts.whyOccupied))
  }
}

extension FetchDecision.Facts {
  /// The finished download whose file is there, whichever command fetched it.
  fileprivate var finished: (id: JobID?, record: JobRecord, version: FileVersion)? {
    if case .intact(let record, let version) = existing { return (record.id, record, version) }
    if case .complete(let record, let version) = sibling { return (nil, record, version) }
    return nil
  }

  /// What the file has otherwise than it has to, where it is known.
  fileprivate var difference: String? {
    switch existing {
    case .damaged(let why), .outdated(_, let why): why
    case .none, .intact, .named, .open: nil
    }
  }

  /// The file that an earlier run left, or that an interrupted one was going to replace.
  fileprivate var earlier: FileVersion? {
    if let finished { return finished.version }
    switch existing {
    case .outdated(let version, _): return version
    case .open(let version): return version
    case .none, .intact, .damaged, .named: return nil
    }
  }

  /// With --if-changed it is about the file that the last run brought, whichever name its server gave it. To the
  /// other modes that is somebody's file.
  fileprivate var ofItsSubject: Self {
    guard mode == .ifChanged, there == .nothing, let elsewhere, elsewhere.there == .file else { return self }
    var facts = self
    (facts.path, facts.there) = (elsewhere.path, elsewhere.there)
    return facts
  }

  /// What a digest says is right can't have changed.
  fileprivate var keepsExpected: Bool { (mode == .ifChanged || mode == .ownPlace) && isExpected }

  /// Whatever the mode: asked before the server is.
  fileprivate var whyNoFile: String? {
    let shown = Printable.text(path)
    return switch there {
    case .nothing, .file: nil
    case .folder: "\(shown) is a folder, and none is ever replaced; name a file with -o, or another folder with --to"
    case .device:
      "\(shown) is no file, and isn't replaced by one; '-o -' writes to standard output, and > leads that there"
    }
  }

  fileprivate var whyOccupied: String {
    let shown = Printable.text(path)
    if let why = difference {
      return "\(shown) \(why), and is replaced with --force alone; remove it, or choose --to"
    }
    if mode == .ifChanged {
      return "\(shown) is there already, and isn't known to be what was fetched; --force replaces it"
    }
    return "\(shown) is there already, and is replaced with --force or --if-changed alone; remove it, or choose --to"
  }
}
