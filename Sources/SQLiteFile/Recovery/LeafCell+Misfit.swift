extension LeafCell {
  /// Parses a cell whose record header contradicts its payload length, by what rows of the table look like.
  ///
  /// Where one serial type is of a class that its column cannot have, the length of its value is what the
  /// others leave, and that tells the type. Where none or several are, no value can be told from its neighbours,
  /// and all of them are in doubt.
  ///
  /// `room`: where the cell must end at the latest.
  static func parseMisfit(
    _ page: RawSpan, at start: Int, room: Int, usableSize: Int, shape: RowShape,
    _ types: inout RecordTypes
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
      max(start + 4, offset + total) <= room, let header = Varint.read(page, at: offset, end: room),
      header.length == 1, header.value >= 2, header.value <= payload.value
    else { return nil }
    let headerEnd = offset + Int(header.value)
    var fields: [(type: UInt64, place: Int)] = []
    var place = offset + 1
    while place < headerEnd {
      guard let type = Varint.read(page, at: place, end: headerEnd),
        fields.count < shape.fields.count
      else { return nil }
      fields.append((type.value, place))
      place += type.length
    }
    guard fields.count >= shape.leastFieldCount else { return nil }
    var cell = LeafCell(
      start: start, length: max(4, offset + total - start), rowID: Int64(bitPattern: key.value),
      record: offset, payload: total, local: total)
    let misfits = fields.indices.filter { index in
      let type = fields[index].type
      return type == 10 || type == 11
        || !shape.fields[index].classes.contains(StorageClasses(serialType: type))
    }
    var rest = 0
    for (index, field) in fields.enumerated() where misfits != [index] {
      rest += min(RecordDecoder.length(ofType: field.type), 1 << 20)
    }
    guard misfits.count == 1, let only = misfits.first, fields[only].type < 128,
      let type = deducedType(
        length: total - Int(header.value) - rest, shape.fields[only].classes)
    else {
      cell.isWrecked = true
      return cell
    }
    cell.patch = (fields[only].place - offset, type)
    // A row is only taken for whole when all of it reads as a row.
    var body = headerEnd
    for (index, field) in fields.enumerated() {
      let length = RecordDecoder.length(ofType: index == only ? UInt64(type) : field.type)
      if field.type >= 13, field.type & 1 == 1,
        !TextCheck.isText(page.part(body, length), whole: true, .utf8)
      {
        cell.isWrecked = true
      }
      body += length
    }
    return cell
  }

  /// The one serial type of less than 128 that a value of this length and of these classes has.
  private static func deducedType(length: Int, _ classes: StorageClasses) -> UInt8? {
    let isText = classes.contains(.text)
    let isBlob = classes.contains(.blob)
    let isNumber = classes.contains(.integer)
    switch length {
    case 1...57 where isText != isBlob && !isNumber: return UInt8((isText ? 13 : 12) + 2 * length)
    case 1, 2, 3, 4: return isNumber && !isText && !isBlob ? UInt8(length) : nil
    case 6: return isNumber && !isText && !isBlob ? 5 : nil
    case 8:
      guard !isText, !isBlob else { return nil }
      return isNumber ? (classes.contains(.real) ? nil : 6) : 7
    default: return nil
    }
  }
}
