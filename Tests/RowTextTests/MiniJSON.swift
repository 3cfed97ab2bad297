import Foundation

/// A JSON value whose numbers keep the digits they were written with, so that nothing is lost in comparing.
enum MiniJSON: Hashable {
  case null
  case bool(Bool)
  case number(String)
  case string([UInt8])
  case array([MiniJSON])
  case object([String: MiniJSON])

  struct Malformed: Error {
    let offset: Int
  }

  /// Reads one value that takes up all of `bytes` (RFC 8259).
  init(_ bytes: ArraySlice<UInt8>) throws {
    var reader = Reader(bytes: Array(bytes))
    self = try reader.value()
    guard reader.offset == reader.bytes.count else { throw Malformed(offset: reader.offset) }
  }

  subscript(key: String) -> MiniJSON? {
    guard case .object(let entries) = self else { return nil }
    return entries[key]
  }

  var elements: [MiniJSON]? {
    guard case .array(let elements) = self else { return nil }
    return elements
  }

  /// The text of a string; nil for another value, and for a string that is not valid.
  var text: String? {
    guard case .string(let bytes) = self else { return nil }
    return String(bytes: bytes, encoding: .utf8)
  }

  /// The bytes of `{"hex":"…"}`.
  var hexBytes: [UInt8]? {
    guard case .object(let entries) = self, entries.count == 1,
      case .string(let digits)? = entries["hex"],
      digits.count % 2 == 0
    else { return nil }
    return stride(from: 0, to: digits.count, by: 2).compactMap {
      UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
    }
  }

  private struct Reader {
    let bytes: [UInt8]
    var offset = 0

    var next: UInt8 { offset < bytes.count ? bytes[offset] : 0 }

    mutating func expect(_ text: String) throws {
      guard bytes[offset...].starts(with: text.utf8) else { throw Malformed(offset: offset) }
      offset += text.utf8.count
    }

    mutating func value() throws -> MiniJSON {
      switch next {
      case UInt8(ascii: "n"):
        try expect("null")
        return .null
      case UInt8(ascii: "t"):
        try expect("true")
        return .bool(true)
      case UInt8(ascii: "f"):
        try expect("false")
        return .bool(false)
      case UInt8(ascii: "\""): return .string(try string())
      case UInt8(ascii: "["):
        offset += 1
        var elements: [MiniJSON] = []
        while next != UInt8(ascii: "]") {
          if !elements.isEmpty { try expect(",") }
          elements.append(try value())
        }
        offset += 1
        return .array(elements)
      case UInt8(ascii: "{"):
        offset += 1
        var entries: [String: MiniJSON] = [:]
        while next != UInt8(ascii: "}") {
          if !entries.isEmpty { try expect(",") }
          let key = String(decoding: try string(), as: UTF8.self)
          try expect(":")
          guard entries.updateValue(try value(), forKey: key) == nil else {
            throw Malformed(offset: offset)
          }
        }
        offset += 1
        return .object(entries)
      default:
        let start = offset
        while "+-.eE0123456789".utf8.contains(next) { offset += 1 }
        guard Self.isNumber(bytes[start..<offset]) else { throw Malformed(offset: start) }
        return .number(String(decoding: bytes[start..<offset], as: UTF8.self))
      }
    }

    /// RFC 8259, section 6.
    private static func isNumber(_ text: ArraySlice<UInt8>) -> Bool {
      var rest = text
      func takesDigits() -> Bool {
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        rest = rest.dropFirst(digits.count)
        return !digits.isEmpty
      }
      if rest.first == UInt8(ascii: "-") { rest.removeFirst() }
      if rest.first == UInt8(ascii: "0") {
        rest.removeFirst()
      } else if !takesDigits() {
        return false
      }
      if rest.first == UInt8(ascii: ".") {
        rest.removeFirst()
        guard takesDigits() else { return false }
      }
      if let e = rest.first, e | 0x20 == UInt8(ascii: "e") {
        rest.removeFirst()
        if let sign = rest.first, "+-".utf8.contains(sign) { rest.removeFirst() }
        guard takesDigits() else { return false }
      }
      return rest.isEmpty
    }

    mutating func string() throws -> [UInt8] {
      try expect("\"")
      var text: [UInt8] = []
      while next != UInt8(ascii: "\"") {
        guard next >= 0x20 else { throw Malformed(offset: offset) }
        guard next == UInt8(ascii: "\\") else {
          text.append(next)
          offset += 1
          continue
        }
        offset += 1
        let escape = next
        offset += 1
        switch escape {
        case UInt8(ascii: "n"): text.append(0x0a)
        case UInt8(ascii: "r"): text.append(0x0d)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0c)
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(escape)
        case UInt8(ascii: "u"):
          guard offset + 4 <= bytes.count,
            let unit = UInt32(
              String(decoding: bytes[offset..<offset + 4], as: UTF8.self), radix: 16),
            let scalar = Unicode.Scalar(unit)
          else { throw Malformed(offset: offset) }
          text += Array(String(Character(scalar)).utf8)
          offset += 4
        default: throw Malformed(offset: offset)
        }
      }
      offset += 1
      return text
    }
  }
}

/// CSV as RFC 4180 has it, fields with whether they were in quotes, for comparisons byte by byte.
enum MiniCSV {
  struct Field: Hashable {
    var bytes: [UInt8]
    var isQuoted: Bool
  }

  /// The records of a file whose lines all end in CRLF; nil when it is malformed.
  static func records(_ bytes: [UInt8]) -> [[Field]]? {
    var records: [[Field]] = []
    var record: [Field] = []
    var offset = 0
    while offset < bytes.count {
      var field = Field(bytes: [], isQuoted: bytes[offset] == UInt8(ascii: "\""))
      if field.isQuoted {
        offset += 1
        while true {
          guard offset < bytes.count else { return nil }
          if bytes[offset] == UInt8(ascii: "\"") {
            offset += 1
            guard offset < bytes.count, bytes[offset] == UInt8(ascii: "\"") else { break }
          }
          field.bytes.append(bytes[offset])
          offset += 1
        }
      } else {
        while offset < bytes.count, bytes[offset] != UInt8(ascii: ","), bytes[offset] != 0x0d {
          guard bytes[offset] != UInt8(ascii: "\""), bytes[offset] != 0x0a else { return nil }
          field.bytes.append(bytes[offset])
          offset += 1
        }
      }
      record.append(field)
      guard offset < bytes.count else { return nil }
      if bytes[offset] == UInt8(ascii: ",") {
        offset += 1
        // A comma at a line's end has one more, empty field behind it.
        if offset < bytes.count, bytes[offset] == 0x0d {
          record.append(Field(bytes: [], isQuoted: false))
        } else {
          continue
        }
      }
      guard offset + 1 < bytes.count, bytes[offset] == 0x0d, bytes[offset + 1] == 0x0a else {
        return nil
      }
      offset += 2
      records.append(record)
      record = []
    }
    return record.isEmpty ? records : nil
  }
}
