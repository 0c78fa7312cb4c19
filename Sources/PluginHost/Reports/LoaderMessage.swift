internal import Basics

/// What the system's loader says of a library that it can't load (dlerror(3)): it has words alone.
struct LoaderMessage {
  private let text: String

  init(_ text: String) { self.text = text }

  /// The path or name that the loader found no file for, as in `libone.so: cannot open shared object file: No such file or directory`;
  /// nil: it says something else.
  var missingFile: String? {
    guard let words = text.firstRange(of: ": cannot open shared object file") else { return nil }
    return String(text[..<words.lowerBound])
  }
}
