import CExtension

/// The name of the extension's process, as Apple's platforms have it: that of its executable.
enum ProcessName {
  /// Foundation asks /proc, which isn't there. Before a second thread runs: CoreFoundation reads it without a lock.
  static func set() {
    guard let path = CommandLine.arguments.first else { return }
    let name = name(ofLibrary: path)
    ProcessInfo.processInfo.processName = name
    // Never freed: a line may be under way at any time.
    _CFGetProgname().pointee = UnsafePointer(strdup(name))
  }

  /// What is a library here is a program there: `libDownloader.so` is Downloader.
  static func name(ofLibrary path: String) -> String {
    let file = path.utf8.split(separator: UInt8(ascii: "/")).last.map(Substring.init) ?? ""
    guard let suffix = file.range(of: ".so", options: [.anchored, .backwards]) else { return String(file) }
    let stem = file[..<suffix.lowerBound]
    let name = stem.hasPrefix("lib") ? stem.dropFirst(3) : stem
    return String(name.isEmpty ? file : name)
  }
}
