/// A binary heap with its order. Inlinable, because the scheduler's queues are heaps of small values.
package struct Heap<Element> {
  /// In no order but that the first is the next.
  package private(set) var elements: [Element] = []
  @usableFromInline internal let goesBefore: (Element, Element) -> Bool

  @inlinable package init(_ goesBefore: @escaping (Element, Element) -> Bool) { self.goesBefore = goesBefore }
  @inlinable package init(_ goesBefore: @escaping (Element) -> (Element) -> Bool) {
    self.goesBefore = { goesBefore($0)($1) }
  }

  @inlinable package var first: Element? { elements.first }

  @inlinable package mutating func push(_ element: Element) {
    elements.append(element)
    var child = elements.count - 1
    while child > 0, case let parent = (child - 1) / 2, goesBefore(elements[child], elements[parent]) {
      elements.swapAt(child, parent)
      child = parent
    }
  }

  @discardableResult
  @inlinable package mutating func pop() -> Element? {
    guard let last = elements.popLast() else { return nil }
    guard let top = elements.first else { return last }
    elements[0] = last
    var parent = 0
    while case let left = 2 * parent + 1, left < elements.count {
      let right = left + 1
      let child = right < elements.count && goesBefore(elements[right], elements[left]) ? right : left
      guard goesBefore(elements[child], elements[parent]) else { break }
      elements.swapAt(child, parent)
      parent = child
    }
    return top
  }
  /// The first `count` of those that are asked for, in order; the heap stays as it is. Looks at few others: an element
  /// comes after its parent, so only children of what was looked at can be next.
  @inlinable package func first(_ count: Int, where isAskedFor: (Element) -> Bool) -> [Element] {
    var found: [Element] = []
    var next = Heap<Int> { goesBefore(elements[$0], elements[$1]) }
    if !elements.isEmpty { next.push(0) }
    while found.count < count, let index = next.pop() {
      if isAskedFor(elements[index]) { found.append(elements[index]) }
      for child in [2 * index + 1, 2 * index + 2] where child < elements.count { next.push(child) }
    }
    return found
  }
}
