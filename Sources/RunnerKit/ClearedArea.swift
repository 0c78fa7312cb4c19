internal import CLinux
internal import Glibc
internal import HostProtocol

/// What of the area for answers is zero: a buffer that lies there needs no clearing before its call. Long ones are cleared while the
/// host, which has copied them, makes its next question. On the thread that calls.
final class ClearedArea {
  /// Between two looks at whether there is a question.
  private static let step = 64 << 10

  /// From the payload's end up to here it is.
  private var end = 0
  /// Up to here buffers and answers have been put since.
  private var used = 0
  /// The same of the call that is under way.
  private var placed = 0

  func isZero(_ place: PlacedData) -> Bool { used == 0 && place.offset + place.count <= end }

  func put(_ place: PlacedData) { placed = max(placed, place.offset + place.count) }

  /// A payload that is longer than its own room.
  func put(payload count: Int) { if count > PlacedData.payloadRoom { placed = max(placed, count) } }

  /// The call is over. Whether what it used is worth clearing.
  func callEnded() -> Bool {
    used = max(used, placed)
    placed = 0
    return used - PlacedData.payloadRoom >= PlacedData.minClearedBytes
  }

  /// Clears what was used, until a question comes. False where one has.
  func clear(_ answers: UnsafeMutableRawPointer, isAsked: () -> Bool) -> Bool {
    var start = PlacedData.payloadRoom
    while start < used {
      if isAsked() { return false }
      let count = min(Self.step, used - start)
      memset(answers + start, 0, count)
      start += count
    }
    end = max(end, used)
    used = 0
    return true
  }
}
