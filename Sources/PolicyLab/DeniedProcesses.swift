/// How many processes a plugin had beside its own, and how many its policy allows, as a denial says it: "5 of 2".
struct DeniedProcesses {
  let count: Int
  let allowed: Int

  init(_ target: String) {
    let numbers = target.split(separator: " ").compactMap { Int($0) }
    allowed = numbers.last ?? 1
    count = max(numbers.first ?? 0, allowed + 1)
  }

  /// Twice as many as were too few, or as many as were seen if those are more.
  func enough(upTo limit: Int) -> Int { min(max(allowed * 2, count), limit) }
}
