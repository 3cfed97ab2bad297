/// A property list as plain values. Reading a list never instantiates a class that the list names.
///
/// A list can be read from the binary form (`bplist00`) and the XML form. ModelTools writes the binary form.
package indirect enum PropertyList: Sendable, Hashable {
  /// The null object of the binary form. The XML form has no null object.
  case null
  case bool(Bool)
  /// A signed 64-bit integer. A stored 128-bit integer that does not fit into 64 bits becomes a ``real(_:)``.
  case integer(Int64)
  case real(Double)
  /// A date: seconds since the start of 2001, UTC.
  case date(Double)
  case data([UInt8])
  case string(String)
  /// A reference within a keyed archive: an index into the archive's `$objects`.
  case uid(UInt64)
  case array([PropertyList])
  /// A set, with its elements in stored order. The XML form has no sets.
  case set([PropertyList])
  /// A dictionary: values by name. If a name occurs several times, the last value is kept.
  case dictionary([String: PropertyList])

  /// The maximum depth of nested collections in a property list that is read.
  package static let maximumDepth = 128
  /// The maximum number of values in a list. A value that the file stores once but refers to several times counts each
  /// time. Real models have fewer than 100,000.
  package static let maximumCount = 1 << 20
  /// The maximum size in bytes of a list that is read: 64 MiB.
  package static let maximumByteCount = 64 << 20

  /// Reads a property list in the binary or the XML form, depending on the first bytes.
  ///
  /// - Throws: ``PropertyListError``; `plist.notAPropertyList` if the bytes have neither form.
  package init(bytes: [UInt8]) throws(PropertyListError) {
    if bytes.starts(with: BinaryPropertyListTable.magic) {
      try self.init(binary: bytes)
    } else if HardenedXML.looksLikeXML(bytes) {
      try self.init(xml: bytes)
    } else {
      throw PropertyListError(
        code: .notAPropertyList,
        message: "This is neither a binary nor an XML property list.", offset: 0)
    }
  }

  /// Reads the bytes of a model file, which must be a property list.
  package init(ofModel bytes: [UInt8]) throws(ModelError) {
    do {
      try self.init(bytes: bytes)
    } catch {
      throw ModelError(error)
    }
  }
}

// MARK: - Looking inside

extension PropertyList {
  package subscript(name: String) -> PropertyList? {
    guard case .dictionary(let entries) = self else { return nil }
    return entries[name]
  }

  package var stringValue: String? {
    guard case .string(let value) = self else { return nil }
    return value
  }

  package var integerValue: Int64? {
    guard case .integer(let value) = self else { return nil }
    return value
  }

  /// The truth value of a ``bool(_:)``, or of the integer 0 or 1; nil for any other value.
  package var boolValue: Bool? {
    switch self {
    case .bool(let value): value
    case .integer(0): false
    case .integer(1): true
    default: nil
    }
  }

  package var dataValue: [UInt8]? {
    guard case .data(let value) = self else { return nil }
    return value
  }

  package var elements: [PropertyList]? {
    switch self {
    case .array(let values), .set(let values): values
    default: nil
    }
  }

  package var entries: [String: PropertyList]? {
    guard case .dictionary(let values) = self else { return nil }
    return values
  }
}
