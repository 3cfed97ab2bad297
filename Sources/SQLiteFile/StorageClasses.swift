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
    switch type {
    case 0: self = .null
    case 7: self = .real
    case 1...6, 8, 9: self = .integer
    default: self = type & 1 == 0 ? .blob : .text
    }
  }
}
