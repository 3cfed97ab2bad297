import SQLiteFile

extension LeafCell {
  /// Parses a cell with a wrong record header: the header contradicts the payload length, or is unlike the record
  /// headers of other rows of the table. Only the end of the cell can be trusted. The values must be deduced from other
  /// rows.
  ///
  /// Returns nil if the cell would end after `room`, if its payload continues on overflow pages, or if a row of the
  /// table cannot have a header of this length.
  ///
  /// `room`: the highest page offset at which the cell may end.
  static func parseMisfit(
    _ page: RawSpan, at start: Int, room: Int, usableSize: Int, shape: RowShape
  ) -> LeafCell? {
    guard let payload = Varint.read(page, at: start, end: room), payload.value >= 2,
      payload.value <= UInt64(room)
    else { return nil }
    var offset = start + payload.length
    guard let key = Varint.read(page, at: offset, end: room) else { return nil }
    offset += key.length
    let total = Int(payload.value)
    guard
      BTreePage.localLength(payload: total, usableSize: usableSize, isTableLeaf: true) == total,
      max(start + 4, offset + total) <= room
    else { return nil }
    let cell = LeafCell(
      start: start, length: max(4, offset + total - start), rowID: Int64(bitPattern: key.value),
      record: offset, payload: total, local: total, isWrecked: true)
    return fieldTypes(page, cell, shape) == nil ? nil : cell
  }

  /// Returns the serial types in a record header in which some bytes may be wrong. If a row of the table cannot have so
  /// many or so few types, each byte of the header is read as one type. Nil if the table cannot have that number of
  /// types either, or if the length of the header is wrong.
  static func fieldTypes(_ page: RawSpan, _ cell: LeafCell, _ shape: RowShape)
    -> ContiguousArray<UInt64>?
  {
    let end = cell.record + cell.local
    guard let header = Varint.read(page, at: cell.record, end: end), header.length == 1,
      header.value >= 2, header.value <= UInt64(cell.local)
    else { return nil }
    let headerEnd = cell.record + Int(header.value)
    var types = ContiguousArray<UInt64>()
    var place = cell.record + 1
    while place < headerEnd, types.count <= shape.fields.count {
      guard let type = Varint.read(page, at: place, end: headerEnd) else { break }
      types.append(type.value)
      place += type.length
    }
    if place == headerEnd, types.count >= shape.minFieldCount, types.count <= shape.fields.count {
      return types
    }
    // A wrong byte may have joined two types into one.
    let count = Int(header.value) - 1
    guard count >= shape.minFieldCount, count <= shape.fields.count else { return nil }
    return ContiguousArray(
      (1...count).map { UInt64(page.byte(at: cell.record + $0)) })
  }
}
