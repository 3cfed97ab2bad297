extension PropertyList {
  /// Reads the binary form (`bplist00`).
  ///
  /// Every offset, count and reference is checked. A list is refused if it contains itself, is nested deeper than
  /// ``maximumDepth``, or has more than ``maximumCount`` values. A shared value counts each time that it occurs.
  package init(binary bytes: [UInt8]) throws(PropertyListError) {
    let table = try BinaryPropertyListTable(bytes)
    var expansion = Expansion(table: table)
    self = try expansion.run()
  }
}

/// Turns the object table of a binary property list into a tree of values, without recursion. An object with several
/// references is built once. In the number of values, it counts once for each reference.
private struct Expansion {
  private struct Built {
    var value: PropertyList
    var count: Int
    var height: Int
  }

  private struct Frame {
    var index: Int
    var object: BinaryPropertyListTable.Object
    var next = 0
    var total: Int
  }

  private let table: BinaryPropertyListTable
  private var built: [Built?]
  private var isOpen: [Bool]

  init(table: BinaryPropertyListTable) {
    self.table = table
    built = Array(repeating: nil, count: table.objects.count)
    isOpen = Array(repeating: false, count: table.objects.count)
  }

  mutating func run() throws(PropertyListError) -> PropertyList {
    var stack: [Frame] = []
    if let frame = try open(table.topIndex) { stack.append(frame) }
    while var frame = stack.popLast() {
      if frame.next == frame.total {
        try close(frame)
        continue
      }
      let child = try table.reference(frame.object, frame.next)
      frame.next += 1
      stack.append(frame)
      if built[child] != nil { continue }
      guard !isOpen[child] else {
        throw PropertyListError(
          code: .cyclic, message: "A collection in the property list contains itself.",
          offset: table.objects[child].offset)
      }
      if let inner = try open(child) { stack.append(inner) }
      try checkDepth(stack.count, table.objects[child])
    }
    return built[table.topIndex]?.value ?? .null
  }

  /// Begins to build the object at `index`. A scalar is built at once, and nil is returned. For a collection, returns a
  /// frame that collects its elements.
  private mutating func open(_ index: Int) throws(PropertyListError) -> Frame? {
    let object = table.objects[index]
    switch object.kind {
    case .array, .set, .dictionary:
      isOpen[index] = true
      let total = object.kind == .dictionary ? object.count * 2 : object.count
      guard total < PropertyList.maximumCount else { throw tooLarge(object) }
      return Frame(index: index, object: object, total: total)
    default:
      built[index] = Built(value: try table.scalar(object), count: 1, height: 0)
      return nil
    }
  }

  private func tooLarge(_ object: BinaryPropertyListTable.Object) -> PropertyListError {
    PropertyListError(
      code: .tooLarge,
      message: "The property list expands to more than \(PropertyList.maximumCount) values.",
      offset: object.offset)
  }

  private func checkDepth(
    _ depth: Int, _ object: BinaryPropertyListTable.Object
  ) throws(PropertyListError) {
    guard depth > PropertyList.maximumDepth else { return }
    throw PropertyListError(
      code: .tooDeep,
      message: "The property list is nested deeper than \(PropertyList.maximumDepth) levels.",
      offset: object.offset)
  }

  private mutating func close(_ frame: Frame) throws(PropertyListError) {
    var count = 1
    var height = 0
    var children: [PropertyList] = []
    children.reserveCapacity(frame.total)
    for position in 0..<frame.total {
      let child = try table.reference(frame.object, position)
      guard let part = built[child] else { continue }
      count += part.count
      height = max(height, part.height + 1)
      children.append(part.value)
      guard count <= PropertyList.maximumCount else { throw tooLarge(frame.object) }
    }
    // The stack limits the depth only where an object is built. A shared object may occur at a greater depth later.
    try checkDepth(height, frame.object)
    let value: PropertyList
    switch frame.object.kind {
    case .array: value = .array(children)
    case .set: value = .set(children)
    default:
      var entries: [String: PropertyList] = [:]
      entries.reserveCapacity(frame.object.count)
      for position in 0..<frame.object.count where position + frame.object.count < children.count {
        guard case .string(let name) = children[position] else {
          throw PropertyListError(
            code: .malformed, message: "The property list has a key that is not text.",
            offset: frame.object.offset)
        }
        entries[name] = children[position + frame.object.count]
      }
      value = .dictionary(entries)
    }
    isOpen[frame.index] = false
    built[frame.index] = Built(value: value, count: count, height: height)
  }
}
