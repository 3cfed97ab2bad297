/// The entities of sources that were read before, by the bytes of their elements: neighbouring versions of a model
/// have nearly all of theirs in common, and what is read once need not be read again.
///
/// What an element of a `<model>` says depends on its bytes alone.
package struct KnownEntities {
  /// What was read of ``ManagedObjectModel/maximumPartCount`` and
  /// ``ManagedObjectModel/maximumPredicateLength``.
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
    /// Where its start tag ends.
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
  /// What begins all of these elements.
  package static let opening = Array("<entity ".utf8)
  private static let maximumKeyLength = 256

  /// The last element that was read, for each beginning.
  private var elements: [ArraySlice<UInt8>: Element] = [:]
  private var byteCount = 0
  /// How many entities were read from their elements, and how many were known.
  package private(set) var readCount = 0
  package private(set) var knownCount = 0

  /// Creates a collection without any.
  package init() {}

  /// The known element at a place; nil if another element is there.
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

  /// The start tag, or as much of it as tells elements apart.
  private static func key(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    bytes.prefix(maximumKeyLength).prefix { $0 != UInt8(ascii: ">") }
  }
}
