internal import CLinux
internal import Dispatch
internal import Glibc
internal import LinuxSystem
internal import Sandbox

/// Resolves the names of one run's policy, on a thread that may wait for it: one name at a time. Answers are kept for a while, so
/// that a plugin can't have its host ask again and again. Loop thread only.
final class NameResolver {
  typealias Answer = Result<[[UInt8]], Failure>

  struct Failure: Error, Equatable { var words: String }

  /// Addresses of a name that are tried, one after the other.
  static let maxAddresses = 4
  private static let longestKept = Duration.seconds(30)

  private let loop: EventLoop
  private let queue = DispatchQueue(label: "outrider.names")
  private var known: [NetworkHost: (answer: Answer, at: Duration)] = [:]
  private var waiting: [NetworkHost: [(Answer) -> Void]] = [:]

  init(_ loop: EventLoop) { self.loop = loop }

  /// Calls `completion` on the loop, at once where the answer is known.
  func resolve(_ host: NetworkHost, _ completion: @escaping (Answer) -> Void) {
    if let address = host.address { return completion(.success([address])) }
    if let found = known[host], BootClock.now - found.at < Self.longestKept { return completion(found.answer) }
    waiting[host, default: []].append(completion)
    guard waiting[host]?.count == 1 else { return }
    nonisolated(unsafe) weak let owner = self
    queue.async { [loop] in
      let answer = Self.look(host)
      loop.submit { owner?.found(answer, host) }
    }
  }

  /// No caller waits any more.
  func cancel() { waiting = [:] }

  private func found(_ answer: Answer, _ host: NetworkHost) {
    known[host] = (answer, BootClock.now)
    for completion in waiting.removeValue(forKey: host) ?? [] { completion(answer) }
  }

  /// Blocks.
  private static func look(_ host: NetworkHost) -> Answer {
    var addresses = [ol_address](repeating: ol_address(), count: 16)
    var count: Int32 = 0
    let code = ol_resolve(host.text, &addresses, Int32(addresses.count), &count)
    guard code == 0 else {
      let words = code == -1 ? SystemCallError.message(errno) : String(cString: ol_resolve_message(code))
      return .failure(Failure(words: "\(host.text): \(words)"))
    }
    let found = addresses.prefix(Int(count)).map(\.content)
    let usable = found.filter { AddressRule.rejectionReason(for: $0, of: host) == nil }
    guard !usable.isEmpty else {
      let reason = found.lazy.compactMap { AddressRule.rejectionReason(for: $0, of: host) }.first
      return .failure(Failure(words: "\(host.text): \(reason ?? "no address")"))
    }
    return .success(Array(usable.prefix(maxAddresses)))
  }
}

extension ol_address {
  init(_ content: [UInt8]) {
    self.init()
    length = Int32(content.count)
    withUnsafeMutableBytes(of: &bytes) { $0.copyBytes(from: content.prefix($0.count)) }
  }

  /// 4 or 16 bytes.
  var content: [UInt8] { withUnsafeBytes(of: bytes) { Array($0.prefix(Int(length))) } }
}
