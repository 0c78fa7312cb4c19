/// A value behind a reference that its copies share until one of them changes.
///
/// A table that grows keeps room for up to as many again as it has: eight bytes for each place instead of hundreds. And what
/// lies in two tables is there once.
package struct Boxed<Content> {
  private final class Storage {
    var content: Content

    init(_ content: Content) { self.content = content }
  }

  private var storage: Storage

  package init(_ content: Content) { storage = Storage(content) }

  package var content: Content {
    _read { yield storage.content }
    _modify {
      if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.content) }
      yield &storage.content
    }
  }
}

/// @unchecked: what is shared isn't changed.
extension Boxed: @unchecked Sendable where Content: Sendable {}

extension Boxed: Equatable where Content: Equatable {
  package static func == (left: Self, right: Self) -> Bool {
    left.storage === right.storage || left.storage.content == right.storage.content
  }
}

extension Boxed: Decodable where Content: Decodable {
  package init(from decoder: any Decoder) throws { self.init(try Content(from: decoder)) }
}

extension Boxed: Encodable where Content: Encodable {
  package func encode(to encoder: any Encoder) throws { try content.encode(to: encoder) }
}
