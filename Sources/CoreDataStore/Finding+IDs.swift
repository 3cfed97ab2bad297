package import SQLiteFile

extension Finding.ID {
  /// Rows have an entity number that does not belong to their table.
  package static let coredataUnknownEntity = Self(rawValue: "coredata.unknownEntity")
}
