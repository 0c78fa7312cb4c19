internal import AssetModel
internal import AssetStore
internal import Downloads
internal import Glibc
internal import LinuxSystem

/// Gives files the names that their servers say, with `--content-disposition`.
struct FetchNaming {
  private var names: [JobID: String] = [:]
  private let store: AssetStore
  private let replaces: Bool

  init(_ store: AssetStore, replaces: Bool) {
    self.store = store
    self.replaces = replaces
  }

  /// The last one that says a name counts.
  mutating func received(_ field: String, of id: JobID) {
    if let name = ContentDisposition.fileName(field).flatMap({ SafeFileName.from(name: $0) }) { names[id] = name }
  }

  /// Where the file is then, and what there is to tell of it.
  mutating func rename(_ file: DownloadedFile, of id: JobID, at wall: Int64) -> (file: DownloadedFile, note: String?) {
    guard let name = names.removeValue(forKey: id), let slash = file.path.utf8.lastIndex(of: UInt8(ascii: "/")) else {
      return (file, nil)
    }
    let directory = String(file.path[..<slash])
    let own = String(file.path[file.path.index(after: slash)...])
    guard !own.utf8.elementsEqual(name.utf8) else { return (file, nil) }
    do {
      // Before: who is killed in between finds the file under one of the two.
      try store.history.record([FetchMemory.named(id, name, at: wall)])
      try Self.rename(own, to: name, in: directory, replaces: replaces)
      var file = file
      file.path = "\(directory)/\(name)"
      return (file, nil)
    } catch let error as SystemCallError where error.code == EEXIST {
      return (
        file,
        "\(Printable.text(own)) keeps its name: its server calls it \(Printable.text(name)), which is there already"
      )
    } catch {
      return (file, "\(Printable.text(own)) keeps its name, because it can't be renamed: \(error)")
    }
  }

  /// On the disk when it returns.
  private static func rename(
    _ name: String, to newName: String, in path: String, replaces: Bool
  ) throws(SystemCallError) {
    let directory = try OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY)
    let files = SystemFiles()
    do throws(SystemCallError) {
      try files.rename(name, in: directory.number, to: newName, in: directory.number)
    } catch {
      guard replaces, error.code == EEXIST else { throw error }
      try files.replace(newName, in: directory.number, by: name, in: directory.number)
    }
    try files.synchronize(directory.number)
  }
}
