/// The names that a plugin asked for: each that isn't listed has an address at which nothing answers, so that a connection there
/// says which host and port a policy would have to list. A pure value, bounded whatever is asked.
struct AskedNames {
  private let plan: NetworkPlan
  /// In the order in which they were asked for first, each with how often.
  private(set) var asked: [(name: String, count: Int)] = []
  private var known: [String: (index: Int, address: [UInt8])] = [:]
  private var names: [[UInt8]: String] = [:]
  private var next = 0

  init(_ plan: NetworkPlan) { self.plan = plan }

  /// What is said of a name; nil is one that no machine has.
  mutating func ask(_ name: String?) -> NameQuestion.Answer {
    guard let name else { return .unknown }
    if let listed = plan.address(of: name) { return .address(listed) }
    if let (index, address) = known[name] {
      asked[index].count += 1
      return .address(address)
    }
    var free: [UInt8]?
    while free == nil, next < NetworkPlan.maxAsked {
      free = plan.askedAddress(next)
      next += 1
    }
    guard let free else { return .unknown }
    known[name] = (asked.count, free)
    names[free] = name
    asked.append((name, 1))
    return .address(free)
  }

  /// nil: no name has that address for an answer.
  func name(of address: [UInt8]) -> String? { names[address] }
}
