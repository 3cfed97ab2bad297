import Foundation
import SQLiteFile

/// Reads the JSON files in which bundles and incidents record their data, such as `incident.json`.
enum RecordFile {
  static let maxBytes = 16 << 20

  /// Reads the record at a path.
  ///
  /// - Throws: a failure when the file is larger than ``maxBytes``, or `DecodingError` when it is not a record of this
  ///   type.
  static func read<Record: Decodable>(_ path: String, as type: Record.Type) throws -> Record {
    let file = try ByteFile(path)
    guard file.size <= maxBytes else {
      throw Failure(65, "bundle.badRecord", "\(path): the file is too large for a record")
    }
    return try decode(file.bytes(at: 0, count: Int(file.size)), as: type)
  }

  /// Decodes a record from JSON.
  ///
  /// - Throws: `DecodingError` when the bytes are not a record of this type.
  static func decode<Record: Decodable>(_ bytes: [UInt8], as type: Record.Type) throws -> Record {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    return try decoder.decode(type, from: Data(bytes))
  }
}
