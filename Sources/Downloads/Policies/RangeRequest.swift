internal import AssetModel

extension ResumePolicy {
  /// What ties a range to the version whose bytes are there (RFC 9110, 13.1).
  enum Condition: Equatable, Sendable {
    /// Nothing: digests have the last word, or the validators of the answer are compared with those that are known.
    case unbound
    /// `If-Range` with a strong tag or a date: of another version all of it comes.
    case ifRange(String)
    /// `If-Match` with a strong tag: of another version nothing comes.
    case ifMatch(String)

    var header: Download.Header? {
      switch self {
      case .unbound: nil
      case .ifRange(let validator): Download.Header(name: "If-Range", value: validator)
      case .ifMatch(let tag): Download.Header(name: "If-Match", value: tag)
      }
    }

    var isIfRange: Bool { if case .ifRange = self { true } else { false } }

    /// For a server that drops the range because of this one; nil: there is none that asks for less.
    var next: Condition? {
      switch self {
      case .ifRange(let tag) where tag.hasPrefix("\""): .ifMatch(tag)
      case .ifRange, .ifMatch: .unbound
      case .unbound: nil
      }
    }
  }

  /// What the request says about ranges.
  enum Ask: Equatable, Sendable {
    case whole
    /// From an offset; to an inclusive last byte for a segment.
    case range(from: Int64, to: Int64?, condition: Condition)
    /// The first byte, to learn the length.
    case probe

    var headers: [Download.Header] {
      switch self {
      case .whole: []
      case .probe: [Download.Header(name: "Range", value: "bytes=0-0")]
      case .range(let first, let last, let condition):
        [Download.Header(name: "Range", value: "bytes=\(first)-\(last.map(String.init) ?? "")")]
          + (condition.header.map { [$0] } ?? [])
      }
    }

    var isConditional: Bool {
      if case .range(_, _, let condition) = self { condition != .unbound } else { false }
    }

    var isIfMatch: Bool { if case .range(_, _, .ifMatch) = self { true } else { false } }

    /// The same range, tied otherwise; nil: it can't be.
    var withNextCondition: Ask? {
      guard case .range(let first, let last, let condition) = self, let next = condition.next else { return nil }
      return .range(from: first, to: last, condition: next)
    }
  }
}

extension RangeCondition {
  /// What is worth remembering of a condition that brought the range; nil: it is what every server is asked with.
  init?(_ condition: ResumePolicy.Condition) {
    switch condition {
    case .unbound: self = .comparedAfterwards
    case .ifMatch: self = .ifMatch
    case .ifRange: return nil
    }
  }
}
