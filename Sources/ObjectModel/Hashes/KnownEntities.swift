/// The entities already read from `.xcdatamodel` files, by the bytes of their elements: adjacent versions of a model
/// share nearly all entities, which need not be read again.
///
/// The meaning of an element in a `<model>` depends on its bytes alone.
package struct KnownEntities {
  /// How much was used of ``ManagedObjectModel/maximumPartCount`` and ``ManagedObjectModel/maximumPredicateLength``.
  package struct Cost {
    package var parts = 0
    package var predicateLength = 0

    package init(parts: Int = 0, predicateLength: Int = 0) {
      self.parts = parts
      self.predicateLength = predicateLength
    }
  }

  /// An `<entity>` element and what was read from it.
  package struct Element {
    let bytes: [UInt8]
    /// The length of the start tag in bytes.
    let tagLength: Int
    let eventCount: Int
    package let entity: Entity
    package let cost: Cost

    /// Creates an element from what was read.
    package init(
      bytes: [UInt8], tagLength: Int, eventCount: Int, entity: Entity, cost: Cost
    ) {
      self.bytes = bytes
      self.tagLength = tagLength
      self.eventCount = eventCount
      self.entity = entity
      self.cost = cost
    }
  }

  /// The maximum number of bytes of elements that are kept: 16 MiB.
  package static let maximumByteCount = 16 << 20
  /// The bytes with which each of these elements begins.
  package static let opening = Array("<entity ".utf8)
  private static let maximumKeyLength = 256

  /// The last element read for each key.
  private var elements: [ArraySlice<UInt8>: Element] = [:]
  private var byteCount = 0
  /// How many entities were read from their elements, and how many were known.
  package private(set) var readCount = 0
  package private(set) var knownCount = 0

  /// Creates an empty collection.
  package init() {}

  /// The known element at an offset; nil if another element is there.
  package func element(at index: Int, of bytes: [UInt8]) -> Element? {
    guard let element = elements[Self.key(bytes[index...])],
      bytes[index...].starts(with: element.bytes)
    else { return nil }
    return element
  }

  package mutating func remember(_ element: Element) {
    readCount += 1
    let key = Self.key(element.bytes[...])
    byteCount += element.bytes.count - (elements[key]?.bytes.count ?? 0)
    guard byteCount <= Self.maximumByteCount else {
      elements = [:]
      byteCount = 0
      return
    }
    elements[key] = element
  }

  package mutating func count(known: Int) { knownCount += known }

  /// The key of an element: its start tag, or the first ``maximumKeyLength`` bytes of it.
  private static func key(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    bytes.prefix(maximumKeyLength).prefix { $0 != UInt8(ascii: ">") }
  }
}
