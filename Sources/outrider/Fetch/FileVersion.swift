internal import AssetModel
internal import Basics

/// A file as it is told from others that have the same name later.
struct FileVersion: Equatable, Sendable {
  /// Where that isn't the one of its download.
  var name: String?
  var inode: UInt64
  var size: Int64

  init(inode: UInt64, size: Int64, name: String? = nil) { (self.inode, self.size, self.name) = (inode, size, name) }

  /// nil: the record is of none that is finished. `name`: the file's.
  init?(_ record: JobRecord, name: String) {
    guard let inode = record.publishedInode, let size = record.finalSize else { return nil }
    self.init(inode: inode, size: size, name: name.isExactly(record.specification.fileName) ? nil : name)
  }
}
