/// The fields of a request that clients may set.
package enum RequestFields {
  /// Those that would change what the engine decides (framing, ranges, codings and conditions), or are for one connection.
  private static let reserved: Set<String> = [
    "host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect", "range",
    "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "accept-encoding",
    "want-repr-digest", "proxy-authorization", "keep-alive", "proxy-connection", "http2-settings",
  ]

  package static func mayBeSet(_ name: String) -> Bool { !reserved.contains(HeaderToken.lowercased(name)) }
}
