/// Storage classes ("Datatypes In SQLite", section 2), as a set of bits.
package struct StorageClasses: OptionSet, BitwiseCopyable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let null = Self(rawValue: 1)
  package static let integer = Self(rawValue: 2)
  package static let real = Self(rawValue: 4)
  package static let text = Self(rawValue: 8)
  package static let blob = Self(rawValue: 16)
  package static let any: Self = [.null, .integer, .real, .text, .blob]

  /// The class of a serial type (file format, section 2.1).
  @inline(__always)
  init(serialType type: UInt64) {
    // Types 10 and 11 are reserved; SQLite reads NULL.
    if type >= 12 {
      self = type & 1 == 0 ? .blob : .text
    } else if type == 7 {
      self = .real
    } else {
      self = type == 0 || type > 9 ? .null : .integer
    }
  }
}
