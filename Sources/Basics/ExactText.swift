internal import Glibc

/// A text by its bytes. Swift takes two spellings of one character for equal, "é" and "e" with an accent after it; to the kernel, a
/// server, a database or a linker they are two names.
package struct ExactText: Hashable, Comparable, Sendable {
  package let text: String

  package init(_ text: String) { self.text = text }

  package static func == (left: Self, right: Self) -> Bool { left.text.isExactly(right.text) }

  package static func < (left: Self, right: Self) -> Bool { left.text.utf8.lexicographicallyPrecedes(right.text.utf8) }

  package func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    // So that two texts one after the other aren't another two.
    hasher.combine(text.utf8.count)
  }
}

extension String {
  /// Whether both have the same bytes.
  package func isExactly(_ other: String) -> Bool {
    var (left, right) = (self, other)
    return left.withUTF8 { left in
      right.withUTF8 { right in
        guard left.count == right.count else { return false }
        guard let first = left.baseAddress, let other = right.baseAddress else { return true }
        return memcmp(first, other, left.count) == 0
      }
    }
  }

  /// What is before and after the first "=" (environ(7)); nil where there is none.
  package var dividedAtEquals: (name: String, value: String)? {
    utf8.firstIndex(of: UInt8(ascii: "=")).map {
      (String(self[..<$0]), String(decoding: utf8[utf8.index(after: $0)...], as: UTF8.self))
    }
  }

  /// With `\` before each of `scalars`, whatever accents follow them.
  package func escaping(_ scalars: String.UnicodeScalarView) -> String {
    var result = String.UnicodeScalarView()
    for scalar in unicodeScalars {
      if scalars.contains(scalar) { result.append("\\") }
      result.append(scalar)
    }
    return String(result)
  }
}

extension Sequence<String> {
  /// Whether one of them has the same bytes as `text`.
  package func containsExactly(_ text: String) -> Bool { contains { $0.isExactly(text) } }

  /// Each once, in the order of their bytes.
  package var exactlyOnce: [String] { Set(map(ExactText.init)).sorted().map(\.text) }
}
