package import CoreDataStore
import ModelTools
package import ObjectModel
package import SQLiteFile
package import StoreFiles

extension StoreMetadata {
  /// A metadata key that Core Data itself does not write. The value is left out, because apps store tokens and other
  /// secrets under such keys.
  package struct OtherKey: Sendable, Equatable, Codable {
    package let name: String
    /// The kind of the value, such as `string`.
    package let kind: String
    /// The size of the value, in bytes. A string is measured in UTF-8, and a collection as a binary property list. A
    /// number or date counts as 8 bytes.
    package let sizeBytes: Int
  }
}

extension CoreDataStore {
  /// Reads the keys of the store's metadata that Core Data itself does not write. Returns them sorted by name.
  ///
  /// - Throws: `SQLiteFileError` when the device fails to read.
  package func otherKeys() throws(SQLiteFileError) -> [StoreMetadata.OtherKey] {
    guard let names = metadata?.otherKeyNames, !names.isEmpty, let list = try metadataList() else {
      return []
    }
    return names.compactMap { name in
      list[name].map { .init(name: name, kind: $0.kindName, sizeBytes: $0.approximateSize) }
    }
  }

  /// Reads the property list in the first row of Z_METADATA; nil if it cannot be read.
  ///
  /// - Throws: `SQLiteFileError` when the device fails to read.
  package func metadataList() throws(SQLiteFileError) -> PropertyList? {
    guard let table = database.schema.table(named: "Z_METADATA") else { return nil }
    var list: PropertyList?
    try database.forEachRow(of: table) { row in
      if row.values.count > 2, case .blob(let bytes) = row.values[2] {
        list = try? PropertyList(bytes: bytes)
      }
      return false
    }
    return list
  }
}

extension PropertyList {
  fileprivate var kindName: String {
    switch self {
    case .null: "null"
    case .bool: "boolean"
    case .integer: "integer"
    case .real: "real"
    case .date: "date"
    case .data: "data"
    case .string: "string"
    case .uid: "uid"
    case .array, .set: "array"
    case .dictionary: "dictionary"
    }
  }

  fileprivate var approximateSize: Int {
    switch self {
    case .data(let bytes): bytes.count
    case .string(let text): text.utf8.count
    case .array, .set, .dictionary: binaryBytes().count
    case .null: 0
    case .bool: 1
    case .integer, .real, .date, .uid: 8
    }
  }
}
