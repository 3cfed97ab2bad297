import RowText
import SQLiteFile

extension RecoveredJSONSink {
  func takesLeaves(of table: Int) -> Bool { isUnlimited }

  /// Writes all rows of a leaf in one pass. Returns false, and writes nothing, in three cases: a record contradicts
  /// itself; a value, for example invalid text, must be written by the methods of `RowSink` instead; or the buffer is
  /// too small.
  mutating func take(
    _ leaf: borrowing SoundLeaf, _ page: RawSpan, number: UInt32, _ layout: borrowing RowLayout,
    _ attribution: Attribution, table: Int
  ) -> Bool {
    setTemplate(table)
    guard let start = output.templateLength else { return false }
    let columns = layout.rules.count
    // An estimate, usually too high. Whether a row fits is checked exactly, row by row.
    let room = 2 &* page.byteCount &+ leaf.cells.count &* (start &+ 128 &+ 8 &* columns)
    guard let mark = output.mark(for: min(room, output.capacity)) else { return false }
    var cursor = mark
    for index in leaf.cells.indices {
      let cell = leaf.cells[index]
      // The maximum length of the row. A byte of text becomes at most six bytes, and a write may go up to 32 bytes past
      // the end of its value.
      let most = start &+ 192 &+ 48 &* columns &+ 6 &* Int(cell.end &- cell.record)
      guard cursor &+ most <= output.capacity,
        let end = put(cell, page, layout, attribution, at: cursor)
      else {
        output.takeBack(to: mark)
        return false
      }
      cursor = end
    }
    output.advance(to: cursor)
    return true
  }

  /// Writes a row to the output buffer, from the buffer position `start` on. Returns the position after the row.
  /// Returns nil if the row must be written value by value, or if its record contradicts itself.
  @inline(__always)
  private mutating func put(
    _ cell: SoundLeaf.Cell, _ page: RawSpan, _ layout: borrowing RowLayout,
    _ attribution: Attribution, at start: Int
  ) -> Int? {
    let end = Int(cell.end)
    var offset = Int(cell.record)
    guard let header = Varint.read(page, at: offset, end: end), header.value >= 2,
      header.value > UInt64(header.length), header.value <= UInt64(end &- offset)
    else { return nil }
    var body = offset &+ Int(header.value)
    let headerEnd = body
    offset &+= header.length

    let rowID = OutputBuffer.Digits(cell.rowID)
    var cursor = output.put(rowID, at: output.putTemplate(at: start))
    // `,"values":`, and a bracket or comma before each value.
    output.put(0x7365_756c_6176_222c, at: cursor)
    output.put(0x3a22, at: cursor &+ 8)
    cursor &+= 10
    var separator = UInt64(UInt8(ascii: "["))
    let rules = layout.rules.span
    var column = 0
    while offset < headerEnd, column < rules.count {
      guard let type = Varint.read(page, at: offset, end: headerEnd) else { return nil }
      offset &+= type.length
      let length = RecordDecoder.length(ofType: type.value)
      guard length <= end &- body else { return nil }
      output.put(separator, at: cursor)
      cursor &+= 1
      separator = UInt64(UInt8(ascii: ","))
      let rule = rules[column]
      column &+= 1
      if rule.isRowID {
        if type.value == 10 || type.value == 11 { return nil }
        cursor = output.put(rowID, at: cursor)
      } else {
        switch type.value {
        case 0: cursor = putNull(at: cursor)
        case 1...6:
          let value = RecordDecoder.integer(page, body, length)
          cursor =
            rule.isReal
            ? output.put(jsonReal: Double(value), at: cursor)
            : output.put(integer: value, at: cursor)
        case 7:
          let value = Double(bitPattern: page.uint64(at: body))
          cursor = value.isNaN ? putNull(at: cursor) : output.put(jsonReal: value, at: cursor)
        case 8, 9:
          let value = Int64(type.value &- 8)
          cursor =
            rule.isReal
            ? output.put(jsonReal: Double(value), at: cursor)
            : output.put(integer: value, at: cursor)
        case 10, 11: return nil
        default:
          if type.value & 1 == 1 {
            guard let next = output.put(jsonString: page, body, length, at: cursor) else {
              return nil
            }
            cursor = next
          } else {
            // `{"hex":"…"}`
            output.put(0x223a_2278_6568_227b, at: cursor)
            cursor = output.put(hexadecimal: page.part(body, length), at: cursor &+ 8)
            output.put(0x7d22, at: cursor)
            cursor &+= 2
          }
        }
      }
      body &+= length
    }
    // Every field must belong to a column.
    guard offset == headerEnd, body == end else { return nil }
    while column < rules.count {
      output.put(separator, at: cursor)
      separator = UInt64(UInt8(ascii: ","))
      guard let next = put(missing: column, of: cell.rowID, layout, at: cursor &+ 1) else {
        return nil
      }
      cursor = next
      column &+= 1
    }
    return put(attribution: attribution, at: cursor)
  }

  @inline(__always)
  private mutating func putNull(at cursor: Int) -> Int {
    output.put(0x6c6c_756e, at: cursor)
    return cursor &+ 4
  }

  /// Writes the value of a column that a record has no field for: the row id, the default of the column or NULL.
  /// Returns the position after the value. Returns nil for a default that is a string or a BLOB, which only the methods
  /// of `RowSink` write.
  @inline(never)
  private mutating func put(
    missing column: Int, of rowID: Int64, _ layout: borrowing RowLayout, at cursor: Int
  ) -> Int? {
    if layout.rules[column].isRowID { return output.put(integer: rowID, at: cursor) }
    switch layout.defaults[column] {
    case nil, .null?: return putNull(at: cursor)
    case .integer(let value)?: return output.put(integer: value, at: cursor)
    case .real(let value)?: return output.put(jsonReal: value, at: cursor)
    case .text?, .blob?: return nil
    }
  }

  /// Writes the end of a row's JSON line at `cursor`: `],"attribution":"…"}` and a line feed. Returns the position
  /// after them.
  @inline(__always)
  private mutating func put(attribution: Attribution, at cursor: Int) -> Int {
    output.put(0x6972_7474_6122_2c5d, at: cursor)
    output.put(0x3a22_6e6f_6974_7562, at: cursor &+ 8)
    guard attribution == .root else { return put(rareAttribution: attribution, at: cursor &+ 16) }
    output.put(0x0a7d_2274_6f6f_7222, at: cursor &+ 16)
    return cursor &+ 24
  }

  @inline(never)
  private mutating func put(rareAttribution attribution: Attribution, at start: Int) -> Int {
    output.put(UInt64(UInt8(ascii: "\"")), at: start)
    var cursor = start &+ 1
    for byte in attribution.name.utf8 {
      output.put(UInt64(byte), at: cursor)
      cursor &+= 1
    }
    output.put(0x0a7d22, at: cursor)
    return cursor &+ 3
  }
}
