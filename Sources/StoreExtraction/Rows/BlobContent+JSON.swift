import CoreDataStore
import ObjectModel
package import RowText

extension OutputBuffer {
  /// Appends a binary value as a JSON object with its size and content, for example
  /// `{"sizeBytes":9,"propertyList":{…}}`. The content is a `propertyList`, a `keyedArchive`, a `text` or an `image`;
  /// other content is left out. For a compressed value, `compressed` precedes the content.
  package mutating func append(json content: BlobContent, sizeBytes: Int) {
    append("{\"sizeBytes\":")
    append(integer: Int64(sizeBytes))
    append(membersOf: content)
    append("}")
  }

  private mutating func append(membersOf content: BlobContent) {
    switch content {
    case .propertyList(let list):
      append(",\"propertyList\":")
      append(json: list)
    case .keyedArchive(_, let tree):
      append(",\"keyedArchive\":")
      append(json: tree)
    case .image(let type, let width, let height):
      append(",\"image\":{\"type\":\"" + type + "\",\"width\":")
      append(integer: Int64(width))
      append(",\"height\":")
      append(integer: Int64(height))
      append("}")
    case .compressed(let format, let inner):
      append(",\"compressed\":\"" + format + "\"")
      if let inner { append(membersOf: inner) }
    case .text(let text):
      append(",\"text\":")
      append(jsonString: text)
    case .unknown: break
    }
  }

  /// Appends a property list. JSON has no dates, data and references: a date becomes a string in ISO 8601, data becomes
  /// `{"hex":…}`, and a reference becomes `{"uid":…}`.
  mutating func append(json list: PropertyList) {
    switch list {
    case .null: append("null")
    case .bool(let flag): append(flag ? "true" : "false")
    case .integer(let number): append(integer: number)
    case .real(let number): append(jsonReal: number)
    case .date(let seconds): append(json: ReferenceDate(seconds: seconds))
    case .data(let bytes): append(json: PropertyValue.binary(bytes), blobs: .hex)
    case .string(let text): append(jsonString: text)
    case .uid(let number):
      append("{\"uid\":")
      append(integer: Int64(clamping: number))
      append("}")
    case .array(let values), .set(let values): append(array: values) { $0.append(json: $1) }
    case .dictionary(let members):
      append("{")
      for (index, (key, value)) in members.sorted(by: { $0.key < $1.key }).enumerated() {
        if index > 0 { append(",") }
        append(jsonString: key)
        append(":")
        append(json: value)
      }
      append("}")
    }
  }
}
