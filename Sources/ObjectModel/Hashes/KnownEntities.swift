/// The entities that were read from `.xcdatamodel` files, found by the bytes of their `<entity>` elements. Adjacent
/// versions of a model share nearly all entities, so each needs to be read only once.
///
/// Equal bytes give equal entities: the meaning of an element in a `<model>` depends on nothing else.
package struct KnownEntities {
  /// How many parts and how many bytes of predicates an entity adds to the limits of ``ManagedObjectModel``.
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

    /// Makes an element from its bytes, the number of its XML events, the entity and the entity's cost.
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

  /// The maximum number of bytes of remembered elements: 16 MiB. Beyond it, all are forgotten.
  package static let maximumByteCount = 16 << 20
  /// The bytes that every remembered element starts with.
  package static let opening = Array("<entity ".utf8)
  private static let maximumKeyLength = 256

  /// The last element read for each key.
  private var elements: [ArraySlice<UInt8>: Element] = [:]
  private var byteCount = 0
  /// The number of elements that were read and remembered.
  package private(set) var readCount = 0
  package private(set) var knownCount = 0

  /// Creates an empty collection.
  package init() {}

  /// The remembered element whose bytes start at an offset of `bytes`; nil if there is none.
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

  /// The key of an element: its start tag without the `>`, at most ``maximumKeyLength`` bytes.
  private static func key(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    bytes.prefix(maximumKeyLength).prefix { $0 != UInt8(ascii: ">") }
  }
}
