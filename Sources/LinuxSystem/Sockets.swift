internal import CLinux
internal import Glibc

/// Two descriptors that belong together, to be taken apart by consuming.
package struct DescriptorPair: ~Copyable {
  package var first: OwnedDescriptor
  package var second: OwnedDescriptor
}

/// Connected Unix sockets and pipes.
package enum Sockets {
  /// Two connected sockets, close-on-exec. The caller closes them.
  package static func pair(stream: Bool) throws(SystemCallError) -> (Int32, Int32) {
    var first: Int32 = -1
    var second: Int32 = -1
    let kind = Int32(stream ? SOCK_STREAM.rawValue : SOCK_SEQPACKET.rawValue)
    try check("socketpair", "AF_UNIX") { ol_socketpair(kind, &first, &second) }
    return (first, second)
  }

  /// `first` is the reading end.
  package static func pipe() throws(SystemCallError) -> DescriptorPair {
    var reader: Int32 = -1
    var writer: Int32 = -1
    try check("pipe2", "") { ol_pipe(&reader, &writer) }
    return DescriptorPair(first: OwnedDescriptor(taking: reader), second: OwnedDescriptor(taking: writer))
  }

  /// Sends everything, with `descriptors` on the first part. Blocks when the socket does.
  package static func send(
    _ socket: Int32, _ bytes: [UInt8], descriptors: [Int32] = [], flags: Int32 = 0
  ) throws(SystemCallError) {
    var offset = 0
    var descriptors = descriptors
    repeat {
      var sent = 0
      try check("sendmsg", "socket \(socket)") {
        bytes.withUnsafeBytes { buffer in
          ol_send(
            socket, buffer.baseAddress.map { $0 + offset }, buffer.count - offset, descriptors, descriptors.count,
            flags,
            &sent)
        }
      }
      offset += sent
      descriptors = []
    } while offset < bytes.count
  }

  package struct Received {
    package var count: Int
    package var descriptors: [Int32]
    package var wasTruncated: Bool
  }

  /// One recvmsg(2) into `buffer`; nil when a non-blocking socket has nothing, and 0 bytes at its end, whether or not
  /// the other side had read everything. The caller owns the descriptors.
  package static func receive(
    _ socket: Int32, into buffer: inout [UInt8], flags: Int32 = 0, maxDescriptors: Int = 0
  ) throws(SystemCallError) -> Received? {
    // Most messages have no descriptors: nothing is allocated for those.
    try withUnsafeTemporaryAllocation(of: Int32.self, capacity: max(maxDescriptors, 1)) {
      (descriptors) throws(SystemCallError) -> Received? in
      while true {
        var arrived = maxDescriptors
        var count = 0
        var truncated: Int32 = 0
        let code = buffer.withUnsafeMutableBytes { bytes in
          guard let base = bytes.baseAddress else { return EINVAL }
          return ol_receive(
            socket, base, bytes.count, descriptors.baseAddress, &arrived, flags, &count, &truncated)
        }
        switch code {
        case 0:
          return Received(count: count, descriptors: Array(descriptors.prefix(arrived)), wasTruncated: truncated != 0)
        // A peer that was killed with something unread resets a Unix socket: said once, before what it had sent itself.
        case EINTR, ECONNRESET: continue
        case EAGAIN: return nil
        default: throw SystemCallError("recvmsg", code: code, subject: "socket \(socket)")
        }
      }
    }
  }
}
