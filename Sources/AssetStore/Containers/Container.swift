internal import Glibc
package import LinuxSystem

/// One app group's directories, open.
package struct Container: ~Copyable, Sendable {
  package let path: String
  private let directory: OwnedDescriptor
  private let container: OwnedDescriptor
  private let lease: OwnedDescriptor
  private let opened: FileIdentity
  private let files: any FileOperations

  /// What apps and extensions see, and where leases lie.
  package var containerPath: String { "\(path)/\(Containers.containerName)" }
  package var leasePath: String { "\(path)/\(Containers.leaseName)" }

  init(
    path: String, directory: consuming OwnedDescriptor, container: consuming OwnedDescriptor,
    lease: consuming OwnedDescriptor, files: any FileOperations
  ) throws(StoreError) {
    self.path = path
    do throws(SystemCallError) { opened = try files.status(of: container.number) } catch { throw .file(error) }
    self.directory = directory
    self.container = container
    self.lease = lease
    self.files = files
  }

  /// Moves a finished file from its directory into the lease directory under `name`, on disk when it returns. Never replaces
  /// anything; refuses what isn't a regular file of ours with one name, or not the inode that the journal has.
  package func lease(
    _ source: String, in sourceDirectory: borrowing OwnedDescriptor, inode: UInt64, as name: String
  ) throws(StoreError) {
    try verify()
    try examine(source, in: sourceDirectory.number, inode: inode)
    do throws(SystemCallError) {
      try files.rename(source, in: sourceDirectory.number, to: name, in: lease.number)
      try files.synchronize(lease.number)
      try files.synchronize(sourceDirectory.number)
    } catch {
      throw Containers.translated(error, "\(leasePath)/\(name)")
    }
  }

  /// Whether the recipient took a leased file: nothing is there any more under its name, or something else is.
  package func wasMoved(_ name: String, inode: UInt64) throws(StoreError) -> Bool {
    do throws(SystemCallError) {
      let file = try files.open(name, in: lease.number, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, mode: 0)
      return try files.status(of: file.number).inode != inode
    } catch {
      if [ENOENT, ELOOP, EXDEV, ENXIO].contains(error.code) { return true }
      throw .file(error)
    }
  }

  /// Deletes what a recipient left, if it is still the file that was leased.
  package func endLease(_ name: String, inode: UInt64) throws(StoreError) {
    if try wasMoved(name, inode: inode) { return }
    do throws(SystemCallError) {
      try files.remove(name, in: lease.number)
      try files.synchronize(lease.number)
    } catch {
      throw .file(error)
    }
  }

  /// Whether the container's name still means the directory that was opened.
  package func verify() throws(StoreError) {
    let now: FileIdentity
    do throws(SystemCallError) {
      let again = try files.open(
        Containers.containerName, in: directory.number, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, mode: 0)
      now = try files.status(of: again.number)
    } catch {
      if error.code == ENOENT { throw .container(path: containerPath, why: .exchanged) }
      throw Containers.translated(error, containerPath)
    }
    guard now.device == opened.device, now.inode == opened.inode else {
      throw .container(path: containerPath, why: .exchanged)
    }
  }

  private func examine(_ name: String, in directory: Int32, inode: UInt64) throws(StoreError) {
    let found: FileIdentity
    do throws(SystemCallError) {
      let file = try files.open(name, in: directory, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, mode: 0)
      found = try files.status(of: file.number)
    } catch {
      throw Containers.translated(error, name)
    }
    guard found.isRegularFile else { throw .container(path: name, why: .notARegularFile) }
    guard found.owner == geteuid() else { throw .container(path: name, why: .foreignOwner(uid: found.owner)) }
    guard found.links == 1 else { throw .container(path: name, why: .hardLinked(links: found.links)) }
    guard found.inode == inode else { throw .container(path: name, why: .exchanged) }
  }
}
