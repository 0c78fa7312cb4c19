/// Bytes and inodes that open jobs have still to write on one volume.
public struct DiskReservation: Sendable, Equatable {
  public var bytes: Int64
  public var inodes: Int64

  public init(bytes: Int64 = 0, inodes: Int64 = 0) {
    self.bytes = bytes
    self.inodes = inodes
  }
}
