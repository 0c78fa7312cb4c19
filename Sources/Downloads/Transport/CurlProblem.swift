internal import CCurl

/// What libcurl's codes (libcurl-errors(3)) say of a transfer, and what it says in its messages alone.
enum CurlProblem {
  /// libcurl repeats such a request by itself, but on any connection that it has, and up to five times.
  static func isGoingAway(_ code: CURLcode, _ detail: String) -> Bool {
    switch code {
    case CURLE_SEND_ERROR: detail.hasPrefix("Connection died")
    case CURLE_HTTP2_STREAM: detail.contains("REFUSED_STREAM")
    // The session is over and nothing was wrong with it: of that libcurl says no more.
    case CURLE_HTTP2: detail.isEmpty
    default: false
    }
  }

  /// libcurl has no code for it, and says it in its message alone.
  static func isEnhanceYourCalm(_ message: String) -> Bool { message.contains("ENHANCE_YOUR_CALM") }

  static func of(_ code: CURLcode, _ message: String) -> TransportEnd.Problem {
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST: .resolve
    case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY: .proxy
    case CURLE_COULDNT_CONNECT: .connect
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_ISSUER_ERROR,
      CURLE_SSL_INVALIDCERTSTATUS:
      .untrusted(.other)
    case CURLE_SSL_CACERT_BADFILE: .untrusted(.unreadableAuthorities)
    case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_CERTPROBLEM, CURLE_USE_SSL_FAILED:
      .tls
    case CURLE_HTTP2: .http2(isEnhanceYourCalm(message) ? .enhanceYourCalm : .connection)
    case CURLE_HTTP2_STREAM: .http2(isEnhanceYourCalm(message) ? .enhanceYourCalm : .stream)
    case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING: .reset
    case CURLE_PARTIAL_FILE: .truncated
    case CURLE_OPERATION_TIMEDOUT: .timeout
    case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING, CURLE_HTTP_RETURNED_ERROR:
      .protocolFault
    default: .other
    }
  }

  /// What libcurl gives up on before it hands the line over.
  static func ofHead(_ code: CURLcode, headerBytes: Int64) -> HeadFailure? {
    // CURLE_TOO_LARGE: a line of 100 KB; before 8.6 CURLE_OUT_OF_MEMORY.
    if code == CURLE_OUT_OF_MEMORY || code.rawValue == 100 {
      let longest = ResponseHeadReader.maxBytes
      // A body alone, as HTTP/0.9 had it, may have no line end at all.
      return headerBytes > 0
        ? .tooLarge(bytes: longest) : .malformed("no status line comes in its first \(longest) bytes")
    }
    return code == CURLE_BAD_FUNCTION_ARGUMENT ? .malformed("its first field begins with a blank") : nil
  }
}
