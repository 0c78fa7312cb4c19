/// Where the same bytes are to be had: a download's URL (number 0) and its mirrors, and whom to ask next. Only with a chunk
/// list are there mirrors: its digests say who sent what was wrong. A pure value.
struct SourceTable {
  /// What a source failed with, and how long it asked to be left alone.
  struct Failure {
    var problem: TransferProblem
    var retryAfter: Duration?
    /// The origin that failed, at the end of however many redirects.
    var origin: UInt32 = 0

    var isTransient: Bool { problem.classification(hasTime: retryAfter != nil) == .transient }

    private var hope: Int { problem.hope(hasTime: retryAfter != nil) }

    fileprivate func isBetter(than other: Failure) -> Bool {
      (hope, other.retryAfter ?? .zero) > (other.hope, retryAfter ?? .zero)
    }
  }

  /// What speaks against asking a source now.
  struct Load {
    /// It asked to be left alone.
    var isResting = false
    var isRangeless = false
    /// Transfers that it serves already.
    var transfers = 0
  }

  let urls: [String]
  /// One bit for each that sent wrong bytes.
  private(set) var banned: UInt64
  /// Those that the rules forbid to ask, and those that are known to send everything or to be slow.
  private var forbidden: Set<Int> = []
  private var rangeless: Set<Int> = []
  private var slow: Set<Int> = []
  /// Those that failed since they last brought anything, in this activation.
  private var failed: Set<Int> = []
  /// Of those: the one that is worth another attempt most.
  private(set) var failure: Failure?

  init(url: String, mirrors: [String], banned: UInt64) {
    // A URL that is named twice is one source.
    urls = mirrors.reduce(into: [url]) { urls, mirror in
      if !urls.contains(where: { $0.utf8.elementsEqual(mirror.utf8) }) { urls.append(mirror) }
    }
    self.banned = banned
    // A journal may say anything: where it bans every source, none is banned.
    if urls.indices.allSatisfy(isBanned) { self.banned = 0 }
  }

  func isBanned(_ source: Int) -> Bool { banned & 1 << UInt64(source) != 0 }

  private func isUsable(_ source: Int) -> Bool { !isBanned(source) && !forbidden.contains(source) }

  /// Likewise, and parts of it.
  func hasOtherWithRanges(than source: Int) -> Bool {
    urls.indices.contains { $0 != source && isUsable($0) && !failed.contains($0) && !rangeless.contains($0) }
  }

  /// Likewise, and it wasn't slow yet.
  func hasOtherQuick(than source: Int) -> Bool {
    urls.indices.contains { $0 != source && isUsable($0) && !failed.contains($0) && !slow.contains($0) }
  }

  func isRangeless(_ source: Int) -> Bool { rangeless.contains(source) }

  mutating func noteRangeless(_ source: Int) { rangeless.insert(source) }
  mutating func noteSlow(_ source: Int) { slow.insert(source) }

  /// No source is left when that is false.
  mutating func forbid(_ source: Int) -> Bool {
    forbidden.insert(source)
    return urls.indices.contains(where: isUsable)
  }

  /// Whether another one may have what this one hasn't.
  func hasOther(than source: Int) -> Bool {
    urls.indices.contains { $0 != source && isUsable($0) && !failed.contains($0) }
  }

  func next(_ load: (Int) -> Load) -> Int {
    func rank(_ source: Int) -> (Int, Int, Int, Int, Int, Int) {
      let load = load(source)
      let isRangeless = load.isRangeless || rangeless.contains(source)
      return (
        failed.contains(source) ? 1 : 0, load.isResting ? 1 : 0, isRangeless ? 1 : 0, slow.contains(source) ? 1 : 0,
        load.transfers, source
      )
    }
    return urls.indices.filter(isUsable).min { rank($0) < rank($1) } ?? 0
  }

  mutating func failed(_ source: Int, with failure: Failure?) {
    guard urls.count > 1 else { return }
    failed.insert(source)
    guard let failure else { return }
    if self.failure.map({ failure.isBetter(than: $0) }) ?? true { self.failure = failure }
  }

  mutating func succeeded(_ source: Int) {
    failed.remove(source)
    if failed.isEmpty { failure = nil }
  }

  /// Nothing of it is taken any more, unless there is no other source. Returns whether it isn't used any more.
  mutating func ban(_ source: Int) -> Bool {
    guard urls.indices.contains(where: { $0 != source && isUsable($0) }) else { return false }
    banned |= 1 << UInt64(source)
    return true
  }
}

extension TransferProblem {
  /// How likely another attempt is to end better.
  fileprivate func hope(hasTime: Bool) -> Int {
    switch classification(hasTime: hasTime) {
    case .transient: 3
    case .notAnAttempt: 2
    case .publication: 1
    case .permanent: 0
    }
  }
}
