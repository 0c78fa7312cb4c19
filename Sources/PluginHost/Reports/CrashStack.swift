internal import AssetModel
internal import Basics
internal import HostProtocol

/// The frames that a crashing plugin's handler told, which are as much the plugin's word as its handler's: bounded, and in
/// order.
struct CrashStack: Equatable {
  private(set) var frames: [RunReport.StackFrame] = []

  static let maxFrames = 32

  /// Takes the next frame; what comes out of turn, or is one too many, is left out.
  mutating func note(_ frame: RunnerMessage.StackFrame) {
    guard frame.index == UInt32(frames.count), frames.count < Self.maxFrames else { return }
    let name = frame.library.pathNames.last ?? ""
    let library = CrashText.library(name)
    frames.append(
      RunReport.StackFrame(
        library: library,
        symbol: Printable.text(frame.symbol, limit: Self.isMangled(frame.symbol) ? 640 : 120),
        symbolOffset: frame.symbolOffset, address: frame.address, file: library.isExactly(name) ? nil : name))
  }

  /// As compilers name functions; only whole names can be read.
  private static func isMangled(_ symbol: String) -> Bool { symbol.utf8.allSatisfy { (0x21...0x7e).contains($0) } }

  /// Without the frames of libffi by which the host called the plugin.
  var ofPlugin: [RunReport.StackFrame] {
    let rest = frames.reversed().drop { $0.library.hasPrefix("libffi.so") }
    return Array(rest.reversed())
  }
}
