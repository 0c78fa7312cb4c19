internal import AssetModel
internal import AssetStore
internal import Basics
internal import Glibc
internal import LinuxSystem

/// Files below one folder that carry the mark of what may be purged (B56), wherever their owner has moved them.
///
/// The folder belongs to an app and its extension, so that everything goes through descriptors: no link is followed, no
/// other volume entered.
struct MarkedFiles {
  static let maxDepth = 64
  /// Entries that one look goes through.
  static let maxEntries = 1_000_000

  let root: String

  private static let folderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
  private static let fileFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC

  /// What may go for space. What was modified or copied has no mark that is true of it, and isn't among them.
  func candidates() -> [PurgeCandidate] {
    guard let folder = try? OwnedDescriptor.open(root, Self.folderFlags), let identity = try? folder.identity() else {
      return []
    }
    var found: [PurgeCandidate] = []
    var left = Self.maxEntries
    look(in: folder, root, 0, device: identity.device, &left) { directory, name, file in
      found.append(
        PurgeCandidate(
          directory: directory, name: name, inode: file.inode, size: file.size, lastUse: file.modified))
    }
    return found
  }

  private func look(
    in folder: borrowing OwnedDescriptor, _ path: String, _ depth: Int, device: UInt64, _ left: inout Int,
    _ body: (String, String, FileIdentity) -> Void
  ) {
    // Of a descriptor, whatever its path has become.
    let names = (try? Files.names(in: "/proc/self/fd/\(folder.number)", atMost: left)) ?? []
    left -= names.count
    for name in names.sorted() {
      if depth < Self.maxDepth, let below = try? SystemFiles().open(name, in: folder.number, Self.folderFlags, mode: 0)
      {
        if let identity = try? below.identity(), identity.device == device {
          look(in: below, "\(path)/\(name)", depth + 1, device: device, &left, body)
        }
      } else if let file = try? SystemFiles().open(name, in: folder.number, Self.fileFlags, mode: 0),
        let identity = try? file.identity(), (try? PurgeMark.state(of: file)) == .marked
      {
        body(path, name, identity)
      }
    }
  }

  /// Deletes one, if it is still the file that was found, and still marked. Returns whether it is gone.
  func remove(_ candidate: PurgeCandidate) -> Bool {
    guard candidate.directory.lies(in: root),
      let top = try? OwnedDescriptor.open(root, Self.folderFlags)
    else { return false }
    return remove(candidate, in: top, candidate.directory.rest(after: root).pathNames[...])
  }

  private func remove(
    _ candidate: PurgeCandidate, in folder: borrowing OwnedDescriptor, _ rest: ArraySlice<String>
  ) -> Bool {
    if let next = rest.first {
      guard let below = try? SystemFiles().open(next, in: folder.number, Self.folderFlags, mode: 0) else {
        return false
      }
      return remove(candidate, in: below, rest.dropFirst())
    }
    guard let file = try? SystemFiles().open(candidate.name, in: folder.number, Self.fileFlags, mode: 0),
      (try? file.identity())?.inode == candidate.inode, (try? PurgeMark.state(of: file)) == .marked
    else { return false }
    return (try? SystemFiles().remove(candidate.name, in: folder.number)) != nil
  }
}
