import SQLiteFile

extension LeafCell {
  /// The deduced first bytes of the payload, if the start of the cell was overwritten; empty for a cell whose start is
  /// intact. ``record`` is the page offset directly after these bytes.
  var lostHeader: [UInt8] {
    guard isStartLost else { return [] }
    let length = UInt8(truncatingIfNeeded: headerLength)
    if lostTypes == 0 { return [length] }
    let low = UInt8(truncatingIfNeeded: firstType & 0x7f)
    return firstType < 128
      ? [length, low] : [length, 0x80 | UInt8(truncatingIfNeeded: firstType >> 7 & 0x7f), low]
  }

  /// Parses a cell of an index or of a WITHOUT ROWID table (file format, section 2.4). Nil when the lengths in the cell
  /// do not agree.
  static func parseIndex(
    _ page: RawSpan, at start: Int, isInterior: Bool, usableSize: Int, maxPayload: Int,
    longestHeader: Int = 0, _ types: inout RecordTypes
  ) -> LeafCell? {
    let lead = isInterior ? 4 : 0
    guard let payload = Varint.read(page, at: start + lead, end: usableSize), payload.value >= 2,
      payload.value <= UInt64(maxPayload)
    else { return nil }
    let record = start + lead + payload.length
    let total = Int(payload.value)
    let local = BTreePage.localLength(payload: total, usableSize: usableSize, isTableLeaf: false)
    let end = record + local + (local < total ? 4 : 0)
    guard end <= usableSize, let header = Varint.read(page, at: record, end: end),
      header.value >= 2, header.value > UInt64(header.length)
    else { return nil }
    if header.value > UInt64(local) {
      guard header.value <= UInt64(longestHeader), header.value <= payload.value else { return nil }
    } else {
      guard types.read(page, record + header.length..<record + Int(header.value)),
        types.bodyLength + Int(header.value) == total
      else { return nil }
    }
    return LeafCell(
      start: start, length: max(4, end - start), rowID: 0, record: record, payload: total,
      local: local, hasRowID: false)
  }

  /// Parses a cell whose payload length is wrong. The right length is computed from the serial types of the record. Nil
  /// when the record header is not valid, or when the cell would end after `limit`.
  static func parseRepairing(
    _ page: RawSpan, at start: Int, limit: Int, usableSize: Int, maxPayload: Int,
    _ types: inout RecordTypes
  ) -> LeafCell? {
    guard let payload = Varint.read(page, at: start, end: limit) else { return nil }
    var offset = start &+ payload.length
    guard let key = Varint.read(page, at: offset, end: limit) else { return nil }
    offset &+= key.length
    guard let header = Varint.read(page, at: offset, end: limit), header.value >= 2,
      header.value <= UInt64(limit &- offset), header.value > UInt64(header.length)
    else { return nil }
    let headerEnd = offset &+ Int(header.value)
    guard types.read(page, offset &+ header.length..<headerEnd) else { return nil }
    let total = types.bodyLength &+ Int(header.value)
    guard total <= maxPayload else { return nil }
    let local = BTreePage.localLength(payload: total, usableSize: usableSize, isTableLeaf: true)
    let length = max(4, offset &- start &+ local &+ (local < total ? 4 : 0))
    guard start &+ length <= limit else { return nil }
    return LeafCell(
      start: start, length: length, rowID: Int64(bitPattern: key.value), record: offset,
      payload: total, local: local)
  }
}
