/// Functions of the runner's own, which are called as a plugin's are. A plugin's names have no NUL.
package enum RunnerFunction: String, Sendable, CaseIterable {
  /// Zero bytes; NULL where there is no room for so many.
  case allocate = "\0allocate"
  case free = "\0free"
  case write = "\0write"
  case read = "\0read"
  /// The address of a function of the host's: its number, and its signature; NULL where the machine has none.
  case openCallback = "\0openCallback"
  case closeCallback = "\0closeCallback"

  /// `count`: bytes that are read, and come back.
  package func signature(count: Int = 0) -> CallSignature {
    switch self {
    case .allocate: CallSignature(result: .pointer, arguments: [.u64])
    case .free: CallSignature(result: .void, arguments: [.pointer])
    case .write: CallSignature(result: .void, arguments: [.pointer, .bytes, .u64])
    case .read: CallSignature(result: .void, arguments: [.pointer, .out(count), .u64])
    case .openCallback: CallSignature(result: .pointer, arguments: [.bytes, .u64])
    case .closeCallback: CallSignature(result: .void, arguments: [.u64])
    }
  }
}
