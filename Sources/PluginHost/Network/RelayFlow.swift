internal import CLinux
internal import Glibc

/// One direction of a connection. What the receiving side doesn't take at once is kept, and nothing more is read until it has: so a
/// connection holds one buffer at most.
struct RelayFlow {
  enum Progress: Equatable {
    /// There is more, and others have their turn first.
    case paused
    case waiting
    /// The end was passed on: no more comes this way.
    case ended
    case failed(Int32)
  }

  /// Reads in one go.
  private static let portion = 4

  private var remaining: ArraySlice<UInt8> = []
  private var hasEnded = false
  private var isPassedOn = false
  /// Bytes that the receiving side has taken since it was asked last.
  private(set) var moved = 0

  var wantsReading: Bool { !hasEnded && remaining.isEmpty }
  var wantsWriting: Bool { !remaining.isEmpty }
  var isOver: Bool { isPassedOn }

  mutating func takeMoved() -> Int { exchange(&moved, with: 0) }

  /// Moves what there is. `buffer`: for the time of this call.
  mutating func move(from source: Int32, to sink: Int32, buffer: inout [UInt8]) -> Progress {
    if let problem = flush(to: sink) { return problem }
    for _ in 0..<Self.portion where wantsReading {
      var count = 0
      let code = buffer.withUnsafeMutableBytes { raw in
        raw.baseAddress.map { ol_read_some(source, $0, raw.count, &count) } ?? EINVAL
      }
      switch code {
      case 0 where count == 0: hasEnded = true
      case 0:
        if let problem = write(buffer[..<count], to: sink) { return problem }
      case EAGAIN: return .waiting
      case EINTR: continue
      case let code: return .failed(code)
      }
    }
    if hasEnded, remaining.isEmpty, !isPassedOn {
      // A receiver that is gone already is noticed by an error elsewhere.
      _ = ol_end_writing(sink)
      isPassedOn = true
    }
    return isPassedOn ? .ended : wantsReading ? .paused : .waiting
  }

  private mutating func flush(to sink: Int32) -> Progress? {
    guard !remaining.isEmpty else { return nil }
    return write(exchange(&remaining, with: []), to: sink)
  }

  /// nil: go on.
  private mutating func write(_ bytes: ArraySlice<UInt8>, to sink: Int32) -> Progress? {
    var bytes = bytes
    while !bytes.isEmpty {
      var count = 0
      let code = bytes.withUnsafeBytes { raw in
        raw.baseAddress.map { ol_write_some(sink, $0, raw.count, &count) } ?? EINVAL
      }
      switch code {
      case 0:
        bytes = bytes.dropFirst(count)
        moved += count
      case EINTR: continue
      case EAGAIN:
        remaining = ArraySlice(Array(bytes))
        return .waiting
      default: return .failed(code)
      }
    }
    return nil
  }
}
