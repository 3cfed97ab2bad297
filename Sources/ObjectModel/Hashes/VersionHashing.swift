import Crypto
import Foundation

/// Computes the same version hashes as Core Data. Each kind of element has a function of its own.
///
/// Strings are hashed as UTF-8 without a length or terminator, integers as little-endian. Nil adds no bytes. Several
/// thousand recorded hashes confirm this recipe. If no recorded hash confirms the rule for a part of an entity, then
/// the entity is in ``ModelHashes/unknown``.
package enum VersionHashing {
  /// The flags of an `NSPropertyDescription` that are part of the hash.
  private enum Flag {
    static let optional: UInt8 = 1
    static let transient: UInt8 = 2
    static let readOnly: UInt8 = 4
  }

  /// Returns SHA-256( name || flags:u16 || versionHashModifier ), the "base" of an attribute or relationship.
  private static func base(
    name: String, isOptional: Bool, isTransient: Bool, isReadOnly: Bool, modifier: String?
  ) -> [UInt8] {
    var flags: UInt8 = 0
    if isOptional { flags |= Flag.optional }
    if isTransient { flags |= Flag.transient }
    if isReadOnly { flags |= Flag.readOnly }
    return sha256(Array(name.utf8) + [flags, 0] + Array((modifier ?? "").utf8))
  }

  /// Returns the hash of an attribute: SHA-256( base || type:i32 || 01 if stored externally || 01 if preserved on
  /// deletion ). The base is a hash of the name, the flags and the version hash modifier. For a derived attribute,
  /// returns SHA-256( expression || predicate ). For a composite, returns SHA-256( hashes of its leaves in name order
  /// ).
  package static func attribute(_ attribute: Attribute, preserved: Bool? = nil) -> [UInt8] {
    if let derivation = attribute.derivation {
      return sha256(
        Array(derivation.expressionText.utf8) + Array((derivation.filterText ?? "").utf8))
    }
    if attribute.type == .composite {
      let leaves = leaves(of: attribute)
        .sorted { ByteOrder.precedes($0.name, $1.name) }
      return sha256(leaves.flatMap { plainAttribute($0, preserved: nil) })
    }
    return plainAttribute(attribute, preserved: preserved)
  }

  private static func plainAttribute(_ attribute: Attribute, preserved: Bool?) -> [UInt8] {
    var bytes = base(
      name: attribute.name, isOptional: attribute.isOptional,
      isTransient: attribute.isTransient, isReadOnly: attribute.isReadOnly,
      modifier: attribute.versionHashModifier)
    append(attribute.type.rawValue, to: &bytes)
    if attribute.allowsExternalBinaryDataStorage { bytes.append(1) }
    if preserved ?? attribute.preservesValueInHistoryOnDeletion { bytes.append(1) }
    return sha256(bytes)
  }

  /// Returns all persistent elements of a composite attribute, at any depth, that are not composites themselves.
  private static func leaves(of composite: Attribute) -> [Attribute] {
    var found: [Attribute] = []
    var pending = composite.elements
    while let element = pending.popLast() {
      if element.isTransient { continue }
      if element.type == .composite {
        pending += element.elements
      } else {
        found.append(element)
      }
    }
    return found
  }

  /// Returns SHA-256( base || destination || inverse || maxCount:i32 || minCount:i32 || 01 00 if ordered ).
  ///
  /// The inverse's name is omitted if `isSelfInverse` is true, because the relationship is its own inverse.
  package static func relationship(_ relationship: Relationship, isSelfInverse: Bool) -> [UInt8] {
    var bytes = base(
      name: relationship.name, isOptional: relationship.isOptional,
      isTransient: relationship.isTransient, isReadOnly: false,
      modifier: relationship.versionHashModifier)
    bytes += Array(relationship.destinationEntityName.utf8)
    if !isSelfInverse, let inverse = relationship.inverseName { bytes += Array(inverse.utf8) }
    append(relationship.maxCount, to: &bytes)
    append(relationship.minCount, to: &bytes)
    if relationship.isOrdered { bytes += [1, 0] }
    return sha256(bytes)
  }

  /// Returns SHA-256( name || isAbstract:u8 || superentity hash, if any || property hashes || modifier || uniqueness
  /// constraints, each joined with `.`, sorted ).
  ///
  /// The properties are the persistent attributes and relationships, inherited ones too. The caller sorts them by name.
  package static func entity(
    name: String, isAbstract: Bool, superentityHash: VersionHash?,
    properties: some Sequence<PropertyHash>, modifier: String?, uniquenessConstraints: [[String]]
  ) -> VersionHash {
    var bytes = Array(name.utf8)
    bytes.append(isAbstract ? 1 : 0)
    bytes += superentityHash?.bytes ?? []
    for property in properties { bytes += property.bytes }
    bytes += Array((modifier ?? "").utf8)
    let constraints = uniquenessConstraints.map { $0.joined(separator: ".") }
    for constraint in ByteOrder.sorted(constraints) { bytes += Array(constraint.utf8) }
    return VersionHash(digest: sha256(bytes))
  }

  package struct PropertyHash {
    let name: String
    let bytes: [UInt8]

    package init(name: String, bytes: [UInt8]) {
      self.name = name
      self.bytes = bytes
    }
  }

  /// Appends an integer as 32 bits, little-endian.
  private static func append(_ value: Int32, to bytes: inout [UInt8]) {
    let pattern = UInt32(bitPattern: value)
    for shift in [UInt32(0), 8, 16, 24] {
      bytes.append(UInt8(truncatingIfNeeded: pattern >> shift))
    }
  }

  private static func sha256(_ bytes: [UInt8]) -> [UInt8] {
    Array(SHA256.hash(data: bytes))
  }
}

extension ModelHashes {
  /// Returns the model checksum (`NSStoreModelVersionChecksumKey`): the base64 text of the SHA-256 over the hashes of
  /// all entities. The hashes are in the order of the entity names by UTF-8 bytes.
  public static func checksum(of hashes: [String: VersionHash]) -> String {
    var state = SHA256()
    for name in ByteOrder.sorted(hashes.keys) {
      if let hash = hashes[name] { state.update(data: hash.bytes) }
    }
    return Data(state.finalize()).base64EncodedString()
  }

  /// Returns the model digest (`NSStoreModelVersionHashesDigest`): the base64 text of the SHA-512 over the name and
  /// hash of each entity. The entities are in the order of their names by UTF-8 bytes.
  package static func digest(of hashes: [String: VersionHash]) -> String {
    var state = SHA512()
    for name in ByteOrder.sorted(hashes.keys) {
      state.update(data: Array(name.utf8))
      if let hash = hashes[name] { state.update(data: hash.bytes) }
    }
    return Data(state.finalize()).base64EncodedString()
  }
}
