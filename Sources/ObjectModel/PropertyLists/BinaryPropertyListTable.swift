/// The object table of a binary property list (`bplist00`).
///
/// The file consists of the magic number, the objects, the table of the objects' offsets, and a trailer of 32 bytes.
/// The trailer has 6 unused bytes, the size of an offset, the size of a reference, and three big-endian 64-bit
/// numbers: the number of objects, the index of the top object, and the offset of the offset table.
package struct BinaryPropertyListTable {
  package static let magic = Array("bplist00".utf8)
  private static let trailerLength = 32

  /// An object of the binary property list: its kind, and the position of its bytes in the file. The objects that it
  /// contains are not read.
  struct Object {
    enum Kind: UInt8 {
      case null, no, yes, integer, real, date, data, ascii, utf16, utf8, uid
      case array, set, dictionary, invalid
    }

    var kind: Kind
    /// The offset of the object's marker byte in the file.
    var offset: Int
    /// The offset in the file at which the content of the object begins, after its marker and its count.
    var payload: Int
    /// The length of the payload: the number of bytes in a scalar, of units in a UTF-16 string, of elements in a list,
    /// or of entries in a dictionary.
    var count: Int
  }

  let bytes: [UInt8]
  let objects: [Object]
  let topIndex: Int
  private let referenceSize: Int

  init(_ bytes: [UInt8]) throws(PropertyListError) {
    guard bytes.starts(with: Self.magic) else {
      throw PropertyListError(
        code: .notAPropertyList,
        message: "This is not a binary property list: it does not start with bplist00.",
        offset: 0)
    }
    guard bytes.count <= PropertyList.maximumByteCount else {
      throw PropertyListError(
        code: .tooLarge,
        message: "The property list has \(bytes.count) bytes; at most 64 MiB are read.")
    }
    guard bytes.count >= Self.magic.count + Self.trailerLength else {
      throw PropertyListError(
        code: .truncated, message: "The binary property list has no trailer.", offset: bytes.count)
    }
    let trailer = bytes.count - Self.trailerLength
    let offsetSize = Int(bytes[trailer + 6])
    let referenceSize = Int(bytes[trailer + 7])
    guard (1...8).contains(offsetSize), (1...8).contains(referenceSize),
      let count = Self.number(bytes, at: trailer + 8, size: 8),
      let top = Self.number(bytes, at: trailer + 16, size: 8),
      let tableOffset = Self.number(bytes, at: trailer + 24, size: 8)
    else {
      throw PropertyListError(
        code: .truncated,
        message: "The trailer of the binary property list is damaged, as in a truncated file.",
        offset: trailer)
    }
    guard count <= PropertyList.maximumCount else {
      throw PropertyListError(
        code: .tooLarge,
        message:
          "The property list counts \(count) objects; at most \(PropertyList.maximumCount) are read.",
        offset: trailer + 8)
    }
    guard top < count, tableOffset >= Self.magic.count, tableOffset <= trailer,
      count <= (trailer - tableOffset) / offsetSize
    else {
      throw PropertyListError(
        code: .truncated,
        message: "The offset table of the binary property list does not fit into the file.",
        offset: trailer)
    }

    var objects: [Object] = []
    objects.reserveCapacity(count)
    // The objects of a well-formed list share no bytes, so the sum of their lengths is at most the length of the file.
    // Without this check, a small file could list one long string a million times.
    var occupied = 0
    for index in 0..<count {
      let entry = tableOffset + index * offsetSize
      let offset = Self.number(bytes, at: entry, size: offsetSize) ?? 0
      let (object, length) = Self.object(
        bytes, at: offset, end: tableOffset, referenceSize: referenceSize)
      occupied += length
      guard occupied <= tableOffset else {
        throw PropertyListError(
          code: .malformed, message: "Objects of the binary property list overlap.", offset: offset)
      }
      objects.append(object)
    }
    self.bytes = bytes
    self.objects = objects
    self.referenceSize = referenceSize
    topIndex = top
  }

  /// Returns the index of the object to which a collection refers. `position` is the number of the reference in the
  /// collection, counted from 0. In a dictionary, the references to all keys precede those to all values.
  func reference(_ object: Object, _ position: Int) throws(PropertyListError) -> Int {
    let place = object.payload + position * referenceSize
    guard let index = Self.number(bytes, at: place, size: referenceSize), index < objects.count
    else {
      throw PropertyListError(
        code: .malformed, message: "The property list refers to a missing object.", offset: place)
    }
    return index
  }

  /// Returns the value of an object; throws if the object is a collection or invalid.
  func scalar(_ object: Object) throws(PropertyListError) -> PropertyList {
    let start = object.payload
    switch object.kind {
    case .null: return .null
    case .no: return .bool(false)
    case .yes: return .bool(true)
    case .integer: return integer(object)
    case .real: return .real(real(object))
    case .date: return .date(real(object))
    case .data: return .data(Array(bytes[start..<start + object.count]))
    case .ascii, .utf8:
      return .string(String(decoding: bytes[start..<start + object.count], as: UTF8.self))
    case .utf16: return .string(utf16(object))
    case .uid: return .uid(pattern(object))
    case .array, .set, .dictionary, .invalid:
      throw PropertyListError(
        code: .malformed,
        message: "An object of the property list is not valid.", offset: object.offset)
    }
  }
}

// MARK: - Bytes

extension BinaryPropertyListTable {
  /// Returns the unsigned big-endian number at an offset; nil if it extends beyond the bytes or does not fit into
  /// `Int`.
  private static func number(_ bytes: [UInt8], at offset: Int, size: Int) -> Int? {
    guard offset >= 0, offset <= bytes.count - size else { return nil }
    var value: UInt64 = 0
    for index in offset..<offset + size { value = value << 8 | UInt64(bytes[index]) }
    return Int(exactly: value)
  }

  /// Reads the marker and the count of an object. `length` is the number of bytes that the object occupies. A damaged
  /// object has the kind `invalid` and the length 1. If `offset` is outside the objects, the kind is `invalid` and the
  /// length 0. An invalid object causes an error only if another object refers to it.
  private static func object(
    _ bytes: [UInt8], at offset: Int, end: Int, referenceSize: Int
  ) -> (Object, length: Int) {
    let invalid = Object(kind: .invalid, offset: offset, payload: offset, count: 0)
    guard offset >= magic.count, offset < end else { return (invalid, 0) }
    let marker = bytes[offset]
    let low = Int(marker & 15)
    var kind = Object.Kind.invalid
    var start = offset + 1
    var count = 0
    var unit = 1
    switch marker >> 4 {
    case 0x0:
      switch low {
      case 0: kind = .null
      case 8: kind = .no
      case 9: kind = .yes
      default: return (invalid, 1)
      }
    case 0x1 where low <= 4:
      kind = .integer
      count = 1 << low
    case 0x2 where low == 2 || low == 3:
      kind = .real
      count = 1 << low
    case 0x3 where low == 3:
      kind = .date
      count = 8
    case 0x8 where low < 8:
      kind = .uid
      count = low + 1
    case 0x4: kind = .data
    case 0x5: kind = .ascii
    case 0x6: (kind, unit) = (.utf16, 2)
    case 0x7: kind = .utf8
    case 0xA: (kind, unit) = (.array, referenceSize)
    case 0xB, 0xC: (kind, unit) = (.set, referenceSize)
    case 0xD: (kind, unit) = (.dictionary, referenceSize * 2)
    default: return (invalid, 1)
    }
    if count == 0, kind.rawValue >= Object.Kind.data.rawValue {
      count = low
      if low == 15 {
        // A count of 15 or more is stored as an integer object after the marker.
        guard start < end, bytes[start] >> 4 == 1, bytes[start] & 15 <= 3 else {
          return (invalid, 1)
        }
        let size = 1 << Int(bytes[start] & 15)
        guard size <= end - start - 1, let long = number(bytes, at: start + 1, size: size) else {
          return (invalid, 1)
        }
        count = long
        start += 1 + size
      }
    }
    guard count <= (end - start) / unit else { return (invalid, 1) }
    return (
      Object(kind: kind, offset: offset, payload: start, count: count),
      start + count * unit - offset
    )
  }

  private func pattern(_ object: Object) -> UInt64 {
    bigEndian(object.payload, min(object.count, 8))
  }

  private func bigEndian(_ start: Int, _ count: Int) -> UInt64 {
    bytes[start..<start + count].reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// Returns the value of an integer object. Integers of 1, 2 and 4 bytes are unsigned, those of 8 bytes are signed.
  /// Integers of 16 bytes are used for larger numbers. A number that does not fit into `Int64` becomes a real.
  private func integer(_ object: Object) -> PropertyList {
    guard object.count == 16 else { return .integer(Int64(bitPattern: pattern(object))) }
    let high = bigEndian(object.payload, 8)
    let low = bigEndian(object.payload + 8, 8)
    if high == 0, let value = Int64(exactly: low) { return .integer(value) }
    let signed = Int64(bitPattern: low)
    if high == .max, signed < 0 { return .integer(signed) }
    return .real(Double(Int64(bitPattern: high)) * 0x1p64 + Double(low))
  }

  private func real(_ object: Object) -> Double {
    object.count == 4
      ? Double(Float(bitPattern: UInt32(truncatingIfNeeded: pattern(object))))
      : Double(bitPattern: pattern(object))
  }

  private func utf16(_ object: Object) -> String {
    var units: [UInt16] = []
    units.reserveCapacity(object.count)
    for index in 0..<object.count {
      let place = object.payload + index * 2
      units.append(UInt16(bytes[place]) << 8 | UInt16(bytes[place + 1]))
    }
    return String(decoding: units, as: UTF16.self)
  }
}
