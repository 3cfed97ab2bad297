/// The entities that were read from `.xcdatamodel` files, each found again by the bytes of its `<entity>` element.
/// Adjacent versions of a model have nearly all entities in common, so an entity that several versions share is read
/// only once.
///
/// Equal bytes give equal entities, because nothing outside an `<entity>` element changes its meaning.
package struct KnownEntities {
  /// The numbers of parts and of predicate bytes in an entity. ``ManagedObjectModel`` limits their totals.
  package struct Cost {
    package var parts = 0
    package var predicateLength = 0

    package init(parts: Int = 0, predicateLength: Int = 0) {
      self.parts = parts
      self.predicateLength = predicateLength
    }
  }

  /// An `<entity>` element, and the entity that was read from it.
  package struct Element {
    let bytes: [UInt8]
    /// The length of the start tag in bytes.
    let tagLength: Int
    let eventCount: Int
    package let entity: Entity
    package let cost: Cost

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

  /// The maximum total size of the stored `<entity>` elements: 16 MiB. If the size exceeds this, all of them are
  /// removed.
  package static let maximumByteCount = 16 << 20
  package static let opening = Array("<entity ".utf8)
  private static let maximumKeyLength = 256

  private var elements: [ArraySlice<UInt8>: Element] = [:]
  private var byteCount = 0
  package private(set) var readCount = 0

  package init() {}

  /// Returns the remembered `<entity>` element whose bytes begin at `index` in `bytes`; nil if there is no such
  /// element.
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

  /// Returns the lookup key of an element: its start tag without the `>`, cut to ``maximumKeyLength`` bytes.
  private static func key(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    bytes.prefix(maximumKeyLength).prefix { $0 != UInt8(ascii: ">") }
  }
}
