/// How one request is answered: a base, the resource at its path, and what is to be wrong with it. An empty reply is the
/// ordinary answer. Everything that a script can say can be said here, and the other way round.
public struct Reply: Sendable, Equatable {
  /// What is shown in the log beside the request.
  public var name: String?
  /// 400 and above: without the resource, unless `body` says otherwise.
  public var status: Int?
  public var reason: String?
  /// Replaces fields of that name.
  public var setHeaders: [HeaderField] = []
  public var removedHeaders: [String] = []
  /// Sent after all others, as they are; CR LF is added.
  public var rawHeaderLines: [[UInt8]] = []
  /// Instead of the resource.
  public var body: Body?
  /// Instead of everything: exactly these bytes.
  public var raw: [UInt8]?
  /// Instead of everything: so many random bytes.
  public var garbage: Int?
  public var timing = Timing()
  public var ending: Ending?
  public var range: RangeFault?
  public var entity: EntityFault?
  public var length: LengthFault?
  public var framing: Framing?
  /// Coded although identity may have been asked for.
  public var isGzipped = false
  public var redirect: Redirect?
  public var retryAfter: RetryAfter?
  public var digest: DigestFault?
  public var flood: HeaderFlood?

  public init() {}

  public static func status(_ status: Int, _ text: String? = nil) -> Reply {
    var reply = Reply()
    reply.status = status
    reply.body = text.map { .bytes(Array($0.utf8)) }
    return reply
  }

  public static func raw(_ text: String, ending: Ending.Manner = .close) -> Reply {
    var reply = Reply()
    reply.raw = Array(text.utf8)
    reply.ending = Ending(ending)
    return reply
  }

  public static func cut(after position: Ending.Position, _ manner: Ending.Manner = .close) -> Reply {
    var reply = Reply()
    reply.ending = Ending(manner, after: position)
    return reply
  }

  public enum Body: Sendable, Equatable {
    case bytes([UInt8])
    case repeating([UInt8], count: Int)
    /// A file beneath the served directory, or a resource in memory, by its path.
    case resource(String)
  }

  public struct Timing: Sendable, Equatable {
    public var beforeStatus: Duration?
    public var beforeBody: Duration?
    /// The body in pieces of that size, with a pause after each.
    public var slice: Slice?
    public var bytesPerSecond: Int?
    /// The head byte by byte, with a pause after each.
    public var betweenHeadBytes: Duration?

    public struct Slice: Sendable, Equatable {
      public var size: Int
      public var pause: Duration

      public init(size: Int, pause: Duration) {
        self.size = size
        self.pause = pause
      }
    }
  }

  /// The end of the connection, whatever has been promised.
  public struct Ending: Sendable, Equatable {
    public enum Position: Sendable, Equatable {
      /// After so many bytes of the body; 0 is after the head.
      case byte(Int)
      /// Somewhere in the body, by the seed.
      case random
      case wholeBody
    }
    public enum Manner: String, Sendable, CaseIterable {
      case close
      /// RST instead of FIN.
      case reset
      /// FIN, and the connection stays.
      case halfClose
      /// Nothing more until the client goes away.
      case silence
    }
    public var position: Position
    public var manner: Manner

    public init(_ manner: Manner, after position: Position = .wholeBody) {
      self.position = position
      self.manner = manner
    }
  }

  public enum RangeFault: Sendable, Equatable {
    /// 200 and everything.
    case ignored
    /// The same where the range comes with `If-Range`.
    case ignoredWithIfRange
    /// The same, and 412 to every `If-Match`: only a range alone is honoured.
    case ignoredWithConditions
    /// An envelope (`multipart/byteranges`) with the one part that was asked for.
    case multipart
    /// 206, asked or not; nil is the second half.
    case unasked(Range<Int>?)
    /// 416, with or without `Content-Range: bytes */N`.
    case refused(contentRange: Bool)
    /// A `Content-Range` that is off by these numbers; the bytes are those that were asked for.
    case shifted(start: Int, end: Int, total: Int)

    /// Otherwise the fault comes whatever the request asks to be true.
    var evaluatesConditions: Bool {
      switch self {
      case .ignoredWithIfRange, .ignoredWithConditions, .multipart: true
      case .ignored, .unasked, .refused, .shifted: false
      }
    }
  }

  /// The resource has changed.
  public struct EntityFault: Sendable, Equatable {
    public enum Tag: String, Sendable, CaseIterable { case new, same, weak, none }
    public var version: Int
    public var lengthChange: Int
    public var tag: Tag

    public init(version: Int, lengthChange: Int = 0, tag: Tag = .new) {
      self.version = version
      self.lengthChange = lengthChange
      self.tag = tag
    }
  }

  public enum LengthFault: Sendable, Equatable {
    /// Declared so many bytes more or, negative, fewer than are sent.
    case off(by: Int)
    case twice
    case contradicting
    /// A length and chunked coding.
    case withChunked
  }

  public enum Framing: Sendable, Equatable {
    case chunked
    /// No length: the end of the connection is the end of the body.
    case untilClose
    case withoutLastChunk
    case badChunkSize
    case giantExtension(Int)
  }

  public enum Redirect: Sendable, Equatable {
    /// As it is, CR and LF included; `{host}` and `{path}` are filled in.
    case to(String, status: Int = 302)
    /// To itself.
    case loop
    /// So many redirects, then the ordinary answer.
    case hops(Int)
  }

  public enum RetryAfter: Sendable, Equatable {
    case seconds(Int)
    /// A date so many seconds from now; negative is past.
    case date(Int)
    case text(String)
  }

  public enum DigestFault: String, Sendable, CaseIterable { case wrong, unknownAlgorithm, disagreeing }

  public enum HeaderFlood: Sendable, Equatable {
    case many(Int)
    /// One field of so many bytes.
    case huge(Int)
    /// One field that never ends.
    case endless
  }
}
