public import SQLiteFile

extension FixtureValue {
  /// Converts a value that the file reader returned, to compare it with a value that SQLite returned.
  public init(_ value: StoredValue) {
    switch value {
    case .null: self = .null
    case .integer(let number): self = .integer(number)
    case .real(let number): self = .real(number)
    case .text(let text): self = .text(text.utf8)
    case .blob(let bytes): self = .blob(bytes)
    }
  }

  /// Whether values that the file reader returned are those that SQLite returned.
  public static func areEqual(_ values: [StoredValue], _ wanted: [FixtureValue]) -> Bool {
    values.count == wanted.count && zip(values, wanted).allSatisfy { FixtureValue($0) == $1 }
  }
}
