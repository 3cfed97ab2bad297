/// A binary heap: a queue that returns its elements from the smallest up.
package struct MinHeap<Element: Comparable> {
  private var heap: [Element] = []

  package init() {}

  package mutating func insert(_ element: Element) {
    heap.append(element)
    var place = heap.count - 1
    while place > 0, heap[place] < heap[(place - 1) / 2] {
      heap.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  /// Removes and returns the smallest element; nil if there is none.
  package mutating func popFirst() -> Element? {
    guard let first = heap.first else { return nil }
    let last = heap.removeLast()
    guard !heap.isEmpty else { return first }
    heap[0] = last
    var place = 0
    while true {
      var smallest = place
      for child in [2 * place + 1, 2 * place + 2]
      where child < heap.count && heap[child] < heap[smallest] {
        smallest = child
      }
      if smallest == place { return first }
      heap.swapAt(place, smallest)
      place = smallest
    }
  }
}
