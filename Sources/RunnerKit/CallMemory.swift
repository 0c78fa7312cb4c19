internal import CLinux
internal import HostProtocol
internal import LinuxSystem

/// The runner's view of the memory that it shares with its host: mapped before the walls close and never unmapped. The plugin can
/// write to it as to everything here, and harms only itself by it.
struct CallMemory {
  let words: UnsafeMutablePointer<ol_words>
  let questions: UnsafeMutableRawPointer
  let answers: UnsafeMutableRawPointer
  let cleared = ClearedArea()
  static let area = Int(OL_REGION_AREA)

  init(mapping descriptor: Int32) throws(SystemCallError) {
    var start: UnsafeMutableRawPointer?
    try check("mmap", "memory for calls") { ol_region_map(descriptor, Int(OL_REGION_BYTES), &start) }
    guard let start else { throw SystemCallError("mmap", code: 0, subject: "memory for calls") }
    words = start.bindMemory(to: ol_words.self, capacity: 1)
    questions = start + Int(OL_REGION_WORDS)
    answers = questions + Self.area
  }

  /// Bytes of the area for answers that the host has made ready.
  var room: Int { min(Int(ol_read_question(words).room), Self.area) }

  /// The answer without what lies in this memory, for the socket.
  func copy(of answer: PlacedAnswer) -> CallResult { Self.copy(of: answer, answers) }

  /// The same of an answer of which nothing lies there.
  static func copy(of answer: PlacedAnswer) -> CallResult { copy(of: answer, nil) }

  private static func copy(of answer: PlacedAnswer, _ answers: UnsafeMutableRawPointer?) -> CallResult {
    CallResult(
      value: answer.value,
      out: answer.out.map { buffer in
        switch buffer {
        case .bytes(let bytes): bytes
        case .placed(let place):
          answers.map { Array(UnsafeRawBufferPointer(start: $0 + place.offset, count: place.count)) } ?? []
        }
      })
  }
}
