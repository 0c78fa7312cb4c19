/// Which connections are taken. One process can't take the places of all others, and a process that has few is still taken
/// when many have a lot.
struct ConnectionAdmission {
  /// Why a connection isn't taken, as a sentence with its remedy.
  struct Refusal: Error, Equatable {
    let message: String
    let remedy: String
  }

  /// Of one process.
  static let maxOfProcess = 256
  /// Of one process, once three quarters of all places are taken.
  static let maxWhenScarce = 4

  /// Of all processes.
  let max: Int
  private(set) var count = 0
  private(set) var counts: [Int32: Int] = [:]

  /// - Parameter openFiles: how many descriptors this process may have; each connection takes one, and half are left for all else.
  init(openFiles: Int) { max = Swift.max(16, min(4096, openFiles / 2)) }

  mutating func admit(_ process: Int32) throws(Refusal) {
    let own = counts[process] ?? 0
    guard count < max else {
      throw Refusal(
        message: "the service has \(max) connections and takes no more", remedy: "try again when some have ended")
    }
    guard own < Self.maxOfProcess else {
      throw Refusal(
        message: "process \(process) has \(own) connections to the service, the most that one process may have",
        remedy: "use one connection for many requests")
    }
    guard own < Self.maxWhenScarce || count < max / 4 * 3 else {
      throw Refusal(
        message: "the service has \(count) of \(max) connections, and process \(process) has \(own) of them",
        remedy: "use one connection for many requests, or try again when some have ended")
    }
    count += 1
    counts[process] = own + 1
  }

  mutating func release(_ process: Int32) {
    guard let own = counts[process] else { return }
    count -= 1
    counts[process] = own > 1 ? own - 1 : nil
  }
}
