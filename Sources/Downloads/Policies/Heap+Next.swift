internal import HeapModule

extension Heap {
  /// The first `count` of those that are asked for, in order; the heap stays as it is.
  ///
  /// `unordered` has the heap's own layout, a min-max heap: on the first level and every other one after it, an element comes
  /// before all below it. So only what is up to two levels below something that was looked at can be next. With another
  /// layout others would be found, which costs a queue some reading ahead and nothing else.
  func next(_ count: Int, where isAskedFor: (Element) -> Bool) -> [Element] {
    let elements = unordered
    var found: [Element] = []
    var candidates = Heap<Candidate<Element>>()
    func consider(_ index: Int) {
      if index < elements.count { candidates.insert(Candidate(element: elements[index], index: index)) }
    }
    consider(0)
    while found.count < count, let candidate = candidates.popMin() {
      if isAskedFor(candidate.element) { found.append(candidate.element) }
      let index = candidate.index
      let level = (index + 1).leadingZeroBitCount
      guard level.isMultiple(of: 2) == 1.leadingZeroBitCount.isMultiple(of: 2) else { continue }
      for child in (2 * index + 1)...(2 * index + 2) { consider(child) }
      for grandchild in (4 * index + 3)...(4 * index + 6) { consider(grandchild) }
    }
    return found
  }
}

private struct Candidate<Element: Comparable>: Comparable {
  let element: Element
  let index: Int

  static func < (left: Self, right: Self) -> Bool { left.element < right.element }
  static func == (left: Self, right: Self) -> Bool { left.element == right.element }
}
