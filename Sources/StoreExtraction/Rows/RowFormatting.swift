package import CoreDataStore
import StoreFiles
package import RowText
import SQLiteFile

/// The form in which binary values are written.
public enum BlobForm: String, Sendable, CaseIterable {
  /// All bytes, as hexadecimal.
  case hex
  /// The size and the SHA-256 of the bytes, without the bytes themselves.
  case summary
  /// What the bytes contain: a property list or keyed archive as JSON, a text as text, an image as its size.
  case decoded
}

extension OutputBuffer {
  /// Appends a row of an entity as a JSON object in the form of ``NamedRowSink``, without the closing brace, so that
  /// more members can follow.
  mutating func append(membersOf row: ManagedRow, key: Int64?, blobs: BlobForm) {
    append("{\"entity\":")
    if let name = row.entityName { append(jsonString: name) } else { append("null") }
    if row.entityName == nil {
      append(",\"entityNumber\":")
      if let number = row.entityNumber { append(integer: number) } else { append("null") }
    }
    append(",\"pk\":")
    if let key { append(integer: key) } else { append("null") }
    append(valuesOf: row.properties, blobs: blobs)
  }

  /// Appends `items` as a JSON array. `write` appends one item.
  mutating func append<Item>(
    array items: [Item], _ write: (_ output: inout OutputBuffer, _ item: Item) -> Void
  ) {
    append(UInt8(ascii: "["))
    for (index, item) in items.enumerated() {
      if index > 0 { append(UInt8(ascii: ",")) }
      write(&self, item)
    }
    append(UInt8(ascii: "]"))
  }

  /// Appends the member `values` of a row: a JSON object with the properties.
  package mutating func append(valuesOf properties: [ManagedRow.Property], blobs: BlobForm) {
    append(",\"values\":{")
    for (index, property) in properties.enumerated() {
      if index > 0 { append(UInt8(ascii: ",")) }
      append(jsonString: property.name)
      append(UInt8(ascii: ":"))
      append(json: property.value, blobs: blobs)
    }
    append("}")
  }

  /// Appends a value as JSON, as ``NamedRowSink`` writes it.
  package mutating func append(json value: PropertyValue, blobs: BlobForm) {
    switch value {
    case .null: append("null")
    case .integer(let number): append(integer: number)
    case .real(let number): append(jsonReal: number)
    case .boolean(let flag): append(flag ? "true" : "false")
    case .string(let text): append(json: text)
    case .date(let date): append(json: date)
    case .uuid(let bytes): append(jsonString: UUIDText.string(bytes))
    case .binary(let bytes):
      let bytes = ContiguousArray(bytes)
      append(json: bytes.rawSpan, blobs: blobs)
    case .external(let blob): append(json: blob, blobs: blobs)
    case .toOne(let reference): append(json: reference)
    case .toMany(let references): append(array: references) { $0.append(json: $1) }
    }
  }

  /// Appends text as JSON. Valid text becomes a JSON string. Invalid UTF-8 becomes an object with readable text and the
  /// exact bytes.
  mutating func append(json text: StoredText) {
    guard !text.isValid else { return append(jsonString: text.string) }
    append("{\"text\":")
    append(jsonString: text.string)
    append(",\"hex\":\"")
    append(hexadecimal: text.utf8)
    append("\"}")
  }

  /// Appends a date in ISO 8601. If ISO 8601 cannot express the date, appends its seconds.
  mutating func append(json date: ReferenceDate) {
    guard let moment = date.moment else {
      append("{\"secondsSince2001\":")
      append(jsonReal: date.seconds)
      return append("}")
    }
    append(UInt8(ascii: "\""))
    append(iso8601: moment)
    append(UInt8(ascii: "\""))
  }

  /// Appends a date as ``ReferenceDate/iso8601`` writes it: `2026-11-20T21:53:07.25Z`.
  package mutating func append(iso8601 moment: ReferenceDate.Moment) {
    /// Returns two ASCII digits; the first digit is the lowest byte of the result.
    func digits(_ value: Int) -> UInt64 {
      let value = UInt64(truncatingIfNeeded: value)
      let tens = (value &* 205) >> 11
      return (tens | (value &- tens &* 10) << 8) &+ 0x3030
    }
    let second = moment.secondOfDay
    let dash: UInt64 = 0x2d
    let colon: UInt64 = 0x3a
    let year = digits(moment.year / 100) | digits(moment.year % 100) << 16
    var cursor = room(for: 40)
    put(year | dash << 32 | digits(moment.month) << 40 | dash << 56, at: cursor)
    put(
      digits(moment.day) | UInt64(UInt8(ascii: "T")) << 16 | digits(second / 3600) << 24
        | colon << 40 | digits(second / 60 % 60) << 48, at: cursor &+ 8)
    put(colon | digits(second % 60) << 8, at: cursor &+ 16)
    cursor &+= 19
    if moment.microseconds > 0 {
      cursor = put(fraction: UInt64(truncatingIfNeeded: moment.microseconds), at: cursor)
    }
    put(UInt64(UInt8(ascii: "Z")), at: cursor)
    advance(to: cursor &+ 1)
  }

  mutating func append(uuid bytes: RawSpan) {
    var cursor = room(for: 2 &* bytes.byteCount &+ 4)
    for index in 0..<bytes.byteCount {
      if index == 4 || index == 6 || index == 8 || index == 10 {
        put(UInt64(UInt8(ascii: "-")), at: cursor)
        cursor &+= 1
      }
      let byte = bytes.byte(at: index)
      let digits = (UUIDText.digit(byte >> 4), UUIDText.digit(byte & 15))
      put(UInt64(digits.0) | UInt64(digits.1) << 8, at: cursor)
      cursor &+= 2
    }
    advance(to: cursor)
  }

  /// Appends bytes as a JSON object. `blobs` says whether the object contains all bytes in hexadecimal, only their size
  /// and hash, or their decoded content.
  mutating func append(json bytes: RawSpan, blobs: BlobForm) {
    switch blobs {
    case .hex: append(jsonBlob: bytes)
    case .summary:
      append("{\"sizeBytes\":")
      append(integer: Int64(bytes.byteCount))
      append(",\"sha256\":\"" + Digest.sha256(bytes.array()) + "\"}")
    case .decoded: append(json: BlobContent(bytes.array()), sizeBytes: bytes.byteCount)
    }
  }

  /// Appends a value in an external file as a JSON object. The member `external` is the file's name, `missing` is true
  /// if the file is missing, and `unreadable` is the reason why the file cannot be read completely.
  mutating func append(json blob: ExternalBlob, blobs: BlobForm) {
    append("{\"external\":")
    append(jsonString: blob.identifier)
    guard let size = blob.sizeBytes else {
      guard let reason = blob.unreadable else { return append(",\"missing\":true}") }
      append(unreadable: reason)
      return append("}")
    }
    append(",\"sizeBytes\":")
    append(integer: size)
    // The file may have been removed since it was examined, or the device may fail.
    do {
      switch blobs {
      case .hex: try append(hexadecimalOf: ByteFile(blob.path))
      case .summary:
        append(",\"sha256\":\"" + (try StoreSeal.sha256(ofFile: blob.path)) + "\"")
      case .decoded:
        let file = try ByteFile(blob.path)
        let lead = try file.bytes(at: 0, count: Int(min(file.size, BlobContent.maxFileBytes)))
        append(",\"content\":")
        append(json: BlobContent(lead), sizeBytes: Int(clamping: size))
      }
    } catch {
      let problem = (error as? SQLiteFileError)?.message ?? (error as? StoreSealError)?.message
      append(unreadable: problem ?? "read failed")
    }
    append("}")
  }

  /// Appends the content of a file. If reading fails midway, the output keeps the bytes that were read before.
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

  mutating func append(csvValuesOf properties: [ManagedRow.Property], _ form: CSVForm) {
    for property in properties {
      append(form.separator)
      append(csvValue: property.value, form)
    }
  }

  mutating func append(csvValue value: PropertyValue, _ form: CSVForm) {
    switch value {
    case .null: break
    case .integer(let number): append(integer: number)
    case .real(let number): append(csvReal: number, form)
    case .boolean(let flag): append(flag ? "true" : "false")
    case .string(let text):
      append(csvField: text.utf8, safeForSpreadsheets: form.isSafeForSpreadsheets)
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

package enum UUIDText {
  /// Returns the text of the UUID with these 16 bytes, such as `30084A1C-6B5E-4D2C-9F3A-1C2D3E4F5061`.
  package static func string(_ bytes: [UInt8]) -> String {
    var output = OutputBuffer(capacity: 128)
    output.append(uuid: ContiguousArray(bytes).rawSpan)
    var text = ""
    output.drain { text = String(decoding: $0.array(), as: UTF8.self) }
    return text
  }

  /// Returns the ASCII code of the upper-case hexadecimal digit for `value`, which is below 16.
  @inline(__always)
  static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 48 + value : 55 + value }
}
