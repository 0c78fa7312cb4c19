/// Arguments as the kernel handed them over. Swift replaces what isn't UTF-8, and another resource would be fetched, or
/// another folder used, than the one that was named.
enum FetchArguments {
  static func check() throws {
    for index in 0..<Int(CommandLine.argc) {
      guard let bytes = CommandLine.unsafeArgv[index] else { return }
      guard String(validatingCString: bytes) == nil else { continue }
      throw Failure(64, "argument \(index) (\(String(cString: bytes))): has bytes that aren't UTF-8; \(remedy)")
    }
  }

  static let remedy = "write them as the server does, with percent signs (%E9)"
}
