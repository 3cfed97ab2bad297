/// A property list as data: no object of any class is made from it.
///
/// It is read from the binary form (`bplist00`) or the XML form and written in the binary form.
package indirect enum PropertyList: Sendable, Hashable {
  /// The null object of the binary form; XML has none.
  case null
  /// True or false.
  case bool(Bool)
  /// A signed 64-bit integer. A stored 128-bit integer that does not fit becomes a ``real(_:)``.
  case integer(Int64)
  /// A floating-point number.
  case real(Double)
  /// Seconds since the start of 2001, UTC.
  case date(Double)
  /// Bytes.
  case data([UInt8])
  /// Text.
  case string(String)
  /// A reference within a keyed archive: an index into its `$objects`.
  case uid(UInt64)
  /// An ordered list.
  case array([PropertyList])
  /// A set, in stored order; only the binary form has it.
  case set([PropertyList])
  /// Values by name. If a name occurs twice, the last value counts.
  case dictionary([String: PropertyList])

  /// The deepest nesting of collections that is read.
  package static let maximumDepth = 128
  /// The most values that are read, counted as if nothing were shared. Real archives of models stay below 100,000.
  package static let maximumCount = 1 << 20
  /// The maximum number of bytes that are read: 64 MiB.
  package static let maximumByteCount = 64 << 20

  /// Reads either form, recognised by the first bytes.
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
}

// MARK: - Looking inside

extension PropertyList {
  /// The value under a name; nil when this is not a dictionary or has no such name.
  package subscript(name: String) -> PropertyList? {
    guard case .dictionary(let entries) = self else { return nil }
    return entries[name]
  }

  /// The text; nil for any other kind.
  package var stringValue: String? {
    guard case .string(let value) = self else { return nil }
    return value
  }

  /// The integer; nil for any other kind.
  package var integerValue: Int64? {
    guard case .integer(let value) = self else { return nil }
    return value
  }

  /// The truth value, also of the integers 0 and 1; nil for anything else.
  package var boolValue: Bool? {
    switch self {
    case .bool(let value): value
    case .integer(0): false
    case .integer(1): true
    default: nil
    }
  }

  /// The bytes; nil for any other kind.
  package var dataValue: [UInt8]? {
    guard case .data(let value) = self else { return nil }
    return value
  }

  /// The elements of an array or a set; nil for any other kind.
  package var elements: [PropertyList]? {
    switch self {
    case .array(let values), .set(let values): values
    default: nil
    }
  }

  /// The entries of a dictionary; nil for any other kind.
  package var entries: [String: PropertyList]? {
    guard case .dictionary(let values) = self else { return nil }
    return values
  }
}
