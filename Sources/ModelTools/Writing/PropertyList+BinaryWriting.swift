package import ObjectModel

extension PropertyList {
  /// Returns the list in the binary form (`bplist00`).
  ///
  /// Equal lists give equal bytes: keys are sorted, equal scalars become one object, and objects are written level by
  /// level. A list of any depth is written, but only lists down to ``maximumDepth`` can be read.
  package func binaryBytes() -> [UInt8] {
    var writer = BinaryPropertyListWriter()
    return writer.bytes(of: self)
  }

  /// A key by which equal scalars are found. The key compares bits, because Swift's equality would not do: 0.0 equals
  /// -0.0, NaN does not equal itself, and a string equals its other Unicode normalisation forms.
  package enum ScalarKey: Hashable {
    case bits(kind: UInt8, UInt64)
    case text([UInt8])
    case data([UInt8])
  }

  /// The key by which the writer recognises equal scalars, to store them only once. Nil for a collection.
  package var scalarKey: ScalarKey? {
    switch self {
    case .null: .bits(kind: 0, 0)
    case .bool(let value): .bits(kind: 1, value ? 1 : 0)
    case .integer(let value): .bits(kind: 2, UInt64(bitPattern: value))
    case .real(let value): .bits(kind: 3, value.bitPattern)
    case .date(let value): .bits(kind: 4, value.bitPattern)
    case .uid(let value): .bits(kind: 5, value)
    case .string(let value): .text(Array(value.utf8))
    case .data(let value): .data(value)
    case .array, .set, .dictionary: nil
    }
  }
}

/// Writes the objects breadth-first, without recursion.
private struct BinaryPropertyListWriter {
  private enum Item {
    case scalar(PropertyList)
    /// A collection with `count` entries. `indexes` has the indexes of its elements; in a dictionary, those of all keys
    /// precede those of all values.
    case collection(marker: UInt8, count: Int, indexes: [Int])
  }

  private var items: [Item] = []
  private var known: [PropertyList.ScalarKey: Int] = [:]

  mutating func bytes(of root: PropertyList) -> [UInt8] {
    var queue = [root]
    var slots = [reserve(root).index]
    var head = 0
    while head < queue.count {
      let value = queue[head]
      let slot = slots[head]
      head += 1
      func enqueue(_ child: PropertyList) -> Int {
        let (index, isNew) = reserve(child)
        if isNew {
          queue.append(child)
          slots.append(index)
        }
        return index
      }
      switch value {
      case .array(let children):
        let indexes = children.map { enqueue($0) }
        items[slot] = .collection(marker: 0xA0, count: children.count, indexes: indexes)
      case .set(let children):
        let indexes = children.map { enqueue($0) }
        items[slot] = .collection(marker: 0xC0, count: children.count, indexes: indexes)
      case .dictionary(let entries):
        let names = ByteOrder.sorted(entries.keys)
        let keys = names.map { enqueue(.string($0)) }
        let values = names.map { enqueue(entries[$0] ?? .null) }
        items[slot] = .collection(marker: 0xD0, count: names.count, indexes: keys + values)
      default: break
      }
    }
    return layOut()
  }

  /// Returns the index of the object for a value, adding the object if necessary. A collection always gets a new
  /// object, whose content is filled in later; `isNew` is then true. A scalar is complete at once; `isNew` is then
  /// false.
  private mutating func reserve(_ value: PropertyList) -> (index: Int, isNew: Bool) {
    guard let key = value.scalarKey else {
      items.append(.scalar(.null))
      return (items.count - 1, true)
    }
    if let index = known[key] { return (index, false) }
    items.append(.scalar(value))
    known[key] = items.count - 1
    return (items.count - 1, false)
  }

  private func layOut() -> [UInt8] {
    var bytes = BinaryPropertyListTable.magic
    var offsets: [Int] = []
    offsets.reserveCapacity(items.count)
    let referenceSize = Self.size(of: UInt64(max(items.count - 1, 0)))
    for item in items {
      offsets.append(bytes.count)
      switch item {
      case .scalar(let value): Self.append(value, to: &bytes)
      case .collection(let marker, let count, let indexes):
        Self.append(marker: marker, count: count, to: &bytes)
        for index in indexes { Self.append(UInt64(index), size: referenceSize, to: &bytes) }
      }
    }
    let table = bytes.count
    let offsetSize = Self.size(of: UInt64(table))
    for offset in offsets { Self.append(UInt64(offset), size: offsetSize, to: &bytes) }
    bytes += [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)]
    Self.append(UInt64(items.count), size: 8, to: &bytes)
    Self.append(0, size: 8, to: &bytes)
    Self.append(UInt64(table), size: 8, to: &bytes)
    return bytes
  }

  private static func append(_ value: PropertyList, to bytes: inout [UInt8]) {
    switch value {
    case .null, .array, .set, .dictionary: bytes.append(0x00)
    case .bool(let value): bytes.append(value ? 0x09 : 0x08)
    case .integer(let value):
      let pattern = UInt64(bitPattern: value)
      let size = size(of: pattern)
      bytes.append(0x10 | UInt8(size.trailingZeroBitCount))
      append(pattern, size: size, to: &bytes)
    case .real(let value):
      bytes.append(0x23)
      append(value.bitPattern, size: 8, to: &bytes)
    case .date(let value):
      bytes.append(0x33)
      append(value.bitPattern, size: 8, to: &bytes)
    case .uid(let value):
      let size = size(of: value)
      bytes.append(0x80 | UInt8(size - 1))
      append(value, size: size, to: &bytes)
    case .data(let value):
      append(marker: 0x40, count: value.count, to: &bytes)
      bytes += value
    case .string(let value):
      if ByteOrder.isASCII(value) {
        append(marker: 0x50, count: value.utf8.count, to: &bytes)
        bytes += Array(value.utf8)
      } else {
        append(marker: 0x60, count: value.utf16.count, to: &bytes)
        for unit in value.utf16 { append(UInt64(unit), size: 2, to: &bytes) }
      }
    }
  }

  private static func append(marker: UInt8, count: Int, to bytes: inout [UInt8]) {
    if count < 15 {
      bytes.append(marker | UInt8(count))
    } else {
      bytes.append(marker | 15)
      append(.integer(Int64(count)), to: &bytes)
    }
  }

  private static func append(_ value: UInt64, size: Int, to bytes: inout [UInt8]) {
    for index in 0..<size {
      bytes.append(UInt8(truncatingIfNeeded: value >> UInt64((size - 1 - index) * 8)))
    }
  }

  private static func size(of value: UInt64) -> Int {
    if value <= 0xFF { return 1 }
    if value <= 0xFFFF { return 2 }
    return value <= 0xFFFF_FFFF ? 4 : 8
  }
}
