/// A set of storage classes ("Datatypes In SQLite", section 2).
@usableFromInline package struct StorageClasses: OptionSet, BitwiseCopyable, Sendable {
  @usableFromInline package let rawValue: UInt8
  @inlinable package init(rawValue: UInt8) { self.rawValue = rawValue }

  @inlinable package static var null: Self { Self(rawValue: 1) }
  @inlinable package static var integer: Self { Self(rawValue: 2) }
  @inlinable package static var real: Self { Self(rawValue: 4) }
  @inlinable package static var text: Self { Self(rawValue: 8) }
  @inlinable package static var blob: Self { Self(rawValue: 16) }
  package static var any: Self { [.null, .integer, .real, .text, .blob] }

  /// Creates a set with the storage class of a serial type (file format, section 2.1).
  @inlinable @inline(__always)
  package init(serialType type: UInt64) {
    // Types 10 and 11 are reserved. SQLite reads them as NULL.
    if type >= 12 {
      self = type & 1 == 0 ? .blob : .text
    } else if type == 7 {
      self = .real
    } else {
      self = type == 0 || type > 9 ? .null : .integer
    }
  }
}
