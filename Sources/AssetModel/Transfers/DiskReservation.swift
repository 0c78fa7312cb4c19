/// Bytes and inodes that open jobs have still to write on one volume.
public struct DiskReservation: Sendable, Equatable {
  /// Bytes that are still to be written.
  public var bytes: Int64
  /// Files that are still to be made.
  public var inodes: Int64

  /// Creates a reservation.
  public init(bytes: Int64 = 0, inodes: Int64 = 0) {
    self.bytes = bytes
    self.inodes = inodes
  }
}
