extension ArchivedValue {
  /// The integer of an ``integer(_:)``; nil for any other kind.
  package var integerValue: Int64? {
    guard case .integer(let value) = self else { return nil }
    return value
  }
}

extension PropertyList {
  /// The number of values in this value, nested ones and itself included. A shared value counts each time it occurs.
  package var valueCount: Int {
    switch self {
    case .array(let values), .set(let values): values.reduce(1) { $0 + $1.valueCount }
    case .dictionary(let entries): entries.values.reduce(1) { $0 + $1.valueCount }
    default: 1
    }
  }
}

extension KeyedArchive {
  /// The number of values in all objects together.
  package var valueCount: Int { objects.reduce(0) { $0 + $1.valueCount } }
}
