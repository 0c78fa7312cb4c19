/// A binary heap with its order.
struct Heap<Element> {
  private(set) var elements: [Element] = []
  private let goesBefore: (Element, Element) -> Bool

  init(_ goesBefore: @escaping (Element, Element) -> Bool) { self.goesBefore = goesBefore }
  init(_ goesBefore: @escaping (Element) -> (Element) -> Bool) { self.goesBefore = { goesBefore($0)($1) } }

  var first: Element? { elements.first }

  mutating func push(_ element: Element) {
    elements.append(element)
    var child = elements.count - 1
    while child > 0, case let parent = (child - 1) / 2, goesBefore(elements[child], elements[parent]) {
      elements.swapAt(child, parent)
      child = parent
    }
  }

  @discardableResult
  mutating func pop() -> Element? {
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
}
