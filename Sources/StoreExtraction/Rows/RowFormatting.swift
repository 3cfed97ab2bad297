import CoreDataStore
import SQLiteFile

/// How binary values are written.
public enum BlobForm: String, Sendable, CaseIterable {
  /// All bytes, as hexadecimal.
  case hex
  /// Only size and SHA-256.
  case summary
}

extension OutputBuffer {
  /// Appends a row of an entity as a JSON object:
  /// `{"entity":"Note","pk":1,"values":{"title":"…","folder":{"entity":"Folder","pk":2}}}`.
  mutating func append(json row: ManagedRow, blobs: BlobForm) {
    append(membersOf: row, key: row.primaryKey, blobs: blobs)
    append("}")
  }

  /// The same without the closing brace, for a row with more members.
  mutating func append(membersOf row: ManagedRow, key: Int64?, blobs: BlobForm) {
    append("{\"entity\":")
    if let name = row.entityName { append(jsonString: name) } else { append("null") }
    if row.entityName == nil {
      append(",\"entityNumber\":")
      if let number = row.entityNumber { append(integer: number) } else { append("null") }
    }
    append(",\"pk\":")
    if let key { append(integer: key) } else { append("null") }
    append(",\"values\":{")
    for (index, property) in row.properties.enumerated() {
      if index > 0 { append(UInt8(ascii: ",")) }
      append(jsonString: property.name)
      append(UInt8(ascii: ":"))
      append(json: property.value, blobs: blobs)
    }
    append("}")
  }

  private mutating func append(json value: PropertyValue, blobs: BlobForm) {
    switch value {
    case .null: append("null")
    case .integer(let number): append(integer: number)
    case .real(let number): append(jsonReal: number)
    case .boolean(let flag): append(flag ? "true" : "false")
    case .string(let text):
      if text.isValid {
        append(jsonString: text.string)
      } else {
        // Not valid UTF-8: written once as far as it can be read, and once exactly.
        append("{\"text\":")
        append(jsonString: text.string)
        append(",\"hex\":\"")
        append(hexadecimal: text.utf8)
        append("\"}")
      }
    case .date(let date):
      if let text = date.iso8601 {
        append(jsonString: text)
      } else {
        append("{\"secondsSince2001\":")
        append(jsonReal: date.seconds)
        append("}")
      }
    case .uuid(let bytes): append(jsonString: UUIDText.string(bytes))
    case .binary(let bytes): append(json: bytes, blobs: blobs)
    case .external(let blob): append(json: blob, blobs: blobs)
    case .toOne(let reference): append(json: reference)
    case .toMany(let references):
      append(UInt8(ascii: "["))
      for (index, reference) in references.enumerated() {
        if index > 0 { append(UInt8(ascii: ",")) }
        append(json: reference)
      }
      append(UInt8(ascii: "]"))
    }
  }

  private mutating func append(json bytes: [UInt8], blobs: BlobForm) {
    switch blobs {
    case .hex:
      append("{\"hex\":\"")
      append(hexadecimal: bytes)
      append("\"}")
    case .summary:
      append("{\"sizeBytes\":")
      append(integer: Int64(bytes.count))
      append(",\"sha256\":\"" + Digest.sha256(bytes) + "\"}")
    }
  }

  /// A value in an external file: `external` is the file's name, `missing` tells that the file is missing, and
  /// `unreadable` tells why it cannot be read, or not completely.
  private mutating func append(json blob: ExternalBlob, blobs: BlobForm) {
    append("{\"external\":")
    append(jsonString: blob.identifier)
    guard let size = blob.sizeBytes else {
      guard let reason = blob.unreadable else { return append(",\"missing\":true}") }
      append(unreadable: reason)
      return append("}")
    }
    append(",\"sizeBytes\":")
    append(integer: size)
    // Since the file was examined, it may have been removed, or the device may fail.
    do {
      switch blobs {
      case .hex: try append(hexadecimalOf: ByteFile(blob.path))
      case .summary:
        append(",\"sha256\":\"" + (try StoreSeal.sha256(ofFile: blob.path)) + "\"")
      }
    } catch {
      let problem = (error as? SQLiteFileError)?.message ?? (error as? StoreSealError)?.message
      append(unreadable: problem ?? "read failed")
    }
    append("}")
  }

  /// Appends the content of a file; when reading fails midway, what was read until then.
  private mutating func append(hexadecimalOf file: ByteFile) throws(SQLiteFileError) {
    append(",\"hex\":\"")
    defer { append("\"") }
    var offset: Int64 = 0
    while true {
      let piece = try file.bytes(at: offset, count: 262_144)
      if piece.isEmpty { return }
      append(hexadecimal: piece)
      offset += Int64(piece.count)
    }
  }

  private mutating func append(unreadable reason: String) {
    append(",\"unreadable\":")
    append(jsonString: reason)
  }

  private mutating func append(json reference: ObjectReference) {
    append("{\"entity\":")
    if let name = reference.entityName { append(jsonString: name) } else { append("null") }
    append(",\"pk\":")
    append(integer: reference.primaryKey)
    append("}")
  }

  mutating func append(hexadecimal bytes: [UInt8]) {
    let bytes = ContiguousArray(bytes)
    append(hexadecimal: bytes.rawSpan)
  }

  /// Appends a row of an entity as a line of CSV: `_pk` and the properties. Relationships are keys, several of them
  /// separated by spaces.
  mutating func append(csv row: ManagedRow, safeForSpreadsheets isSafe: Bool) {
    append(integer: row.primaryKey)
    append(csvPropertiesOf: row, safeForSpreadsheets: isSafe)
    append("\r\n")
  }

  /// Appends the properties of a row, each after a comma.
  mutating func append(csvPropertiesOf row: ManagedRow, safeForSpreadsheets isSafe: Bool) {
    for property in row.properties {
      append(UInt8(ascii: ","))
      switch property.value {
      case .null: break
      case .integer(let number): append(integer: number)
      case .real(let number): append(number.description)
      case .boolean(let flag): append(flag ? "true" : "false")
      case .string(let text): append(csvField: text.utf8, safeForSpreadsheets: isSafe)
      case .date(let date): append(date.iso8601 ?? date.seconds.description)
      case .uuid(let bytes): append(UUIDText.string(bytes))
      case .binary(let bytes): append(hexadecimal: bytes)
      case .external(let blob): append("external:" + blob.identifier)
      case .toOne(let reference): append(integer: reference.primaryKey)
      case .toMany(let references):
        append(references.map { String($0.primaryKey) }.joined(separator: " "))
      }
    }
  }
}

/// UUIDs as people write them.
package enum UUIDText {
  /// The text of 16 bytes, such as `30084A1C-6B5E-4D2C-9F3A-1C2D3E4F5061`.
  package static func string(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var text: [UInt8] = []
    for (index, byte) in bytes.enumerated() {
      if [4, 6, 8, 10].contains(index) { text.append(UInt8(ascii: "-")) }
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }
}
