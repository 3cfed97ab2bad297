import SQLiteFile

extension Carver {
  /// Reads a deleted cell whose first bytes are lost, as a cell with `fieldCount` fields whose record header began at
  /// `header`. Returns nil if the bytes contradict this. Afterwards, ``types`` contains the serial types of the cell.
  ///
  /// `hasLongFirst`: whether the first serial type has two bytes, and only the first of these bytes is lost.
  /// `mayBeCut`: whether the cell may extend past the end of `space`; the values of the cell are then not checked.
  mutating func cellWithoutStart(
    _ page: RawSpan, _ header: Int, _ space: borrowing Space, fieldCount: Int,
    hasLongFirst: Bool = false, mayBeCut: Bool = false
  ) -> LeafCell? {
    let start = space.start
    let limit = space.limit
    let lost = start + 4
    switch header - start {
    case 2:
      // The payload length, the row id and the header length have one byte each. The fourth lost byte is the first byte
      // of the first serial type.
      return cellWithoutFirst(
        page, space, fieldCount: fieldCount, hasLongFirst: hasLongFirst, mayBeCut: mayBeCut)
    case 3:
      guard let body = types.read(page, at: lost, count: fieldCount, end: limit) else { return nil }
      return sized(page, header, body, types: lost, space, mayBeCut: mayBeCut)
    default:
      // The record header may belong to a complete cell that directly follows a freeblock of four bytes.
      for whole in start + 4..<max(start + 4, header - 1)
      where LeafCell.parse(
        page, at: whole, limit: usableSize, usableSize: usableSize, maxPayload: maxPayload,
        &types)?.record == header
      {
        return nil
      }
      guard header < limit, case let length = Int(page.byte(at: header)), length < 128,
        let body = types.read(page, at: header + 1, count: fieldCount, end: limit),
        body - header == length
      else { return nil }
      return sized(page, header, body, types: header + 1, space, mayBeCut: mayBeCut)
    }
  }

  /// Reads a cell that has lost its start, including the first byte of its first serial type.
  ///
  /// `hasLongFirst`: whether the first serial type has a second byte, which is not lost.
  private mutating func cellWithoutFirst(
    _ page: RawSpan, _ space: borrowing Space, fieldCount: Int, hasLongFirst: Bool, mayBeCut: Bool
  ) -> LeafCell? {
    let start = space.start
    let limit = space.limit
    let header = start + 2
    let left = start + (hasLongFirst ? 5 : 4)
    guard left <= limit, fieldCount > (hasLongFirst ? 0 : 1),
      let body = types.read(page, at: left, count: fieldCount - 1, end: limit)
    else { return nil }
    let rest = types.bodyLength
    let headerLength = body - header
    let candidates: [UInt64]
    if hasLongFirst {
      // With a payload length of one byte, a type is below 384.
      let low = UInt64(page.byte(at: start + 4))
      candidates = [128 | low, 256 | low]
    } else {
      candidates = firstCandidates(space, rest: rest, header: headerLength)
    }
    var found: LeafCell?
    for first in candidates {
      let payload = headerLength + RecordDecoder.length(ofType: first) + rest
      guard payload < 128, mayBeCut || header + payload <= limit,
        2 + payload <= space.exact ?? .max, fieldCount > 1 || 2 + payload == space.exact,
        types.read(page, at: left, count: fieldCount - 1, end: limit) != nil
      else { continue }
      types.prepend(first)
      guard space.shape.fits(types),
        mayBeCut
          || space.shape.fitsValues(
            types, page, body: body, end: header + payload, encoding: encoding)
      else { continue }
      let cell = LeafCell(
        start: start, length: max(4, 2 + payload), rowID: 0, record: left, payload: payload,
        local: payload, hasRowID: false, lostTypes: 1, firstType: first, isStartLost: true,
        headerLength: headerLength)
      if found == nil { found = cell }
      if lands(page, cell.end, space) {
        found = cell
        break
      }
    }
    // ``types`` may contain the types of a later candidate, so the types of the found cell are read again.
    guard let found, types.read(page, at: left, count: fieldCount - 1, end: limit) != nil else {
      return nil
    }
    types.prepend(found.firstType)
    return found
  }

  /// Completes a deleted cell whose first bytes are lost. None of its serial types is lost; they are in ``types``.
  /// Returns nil if the lengths do not fit the space, or if the serial types or values do not fit the shape of the
  /// table's rows.
  ///
  /// `header`: the page offset of the record header. `body`: the page offset of the first value. `typesStart`: the page
  /// offset of the first serial type.
  private mutating func sized(
    _ page: RawSpan, _ header: Int, _ body: Int, types typesStart: Int, _ space: borrowing Space,
    mayBeCut: Bool
  ) -> LeafCell? {
    let start = space.start
    let payload = body - header + types.bodyLength
    // The payload length takes one to four bytes, and the row id takes at least one.
    let prefix = header - start
    let payloadBytes = payload < 128 ? 1 : payload < 16_384 ? 2 : payload < 2_097_152 ? 3 : 4
    guard payload >= 2, payload <= maxPayload, prefix > payloadBytes, body - header < 128,
      space.shape.fits(types)
    else {
      return nil
    }
    let local = BTreePage.localLength(payload: payload, usableSize: usableSize, isTableLeaf: true)
    let length = max(4, prefix + local + (local < payload ? 4 : 0))
    guard mayBeCut || start + length <= space.limit, length <= space.exact ?? .max else {
      return nil
    }
    if !mayBeCut {
      types.spend(bytes: local)
      guard space.shape.fitsValues(types, page, body: body, end: header + local, encoding: encoding)
      else { return nil }
    }
    return LeafCell(
      start: start, length: length, rowID: 0, record: typesStart, payload: payload, local: local,
      hasRowID: false, lostTypes: 0, isStartLost: true, headerLength: body - header)
  }

  /// Returns the possible values of the first field's serial type, which is lost, in the order in which they are tried.
  ///
  /// `rest`: the total length of all values except the first one, in bytes.
  /// `header`: the length of the record header, in bytes.
  private func firstCandidates(_ space: borrowing Space, rest: Int, header: Int) -> [UInt64] {
    guard let field = space.shape.fields.first else { return [] }
    if field.classes == .null { return [0] }
    var candidates: [UInt64] = []
    // The serial types whose values have no bytes. They come last, because the freeblock does not show which of them is
    // the right one.
    var empty: [UInt64] = []
    if let exact = space.exact {
      // The cell fills the freeblock, so the length of the first value follows from the size of the freeblock.
      let length = exact - 2 - header - rest
      // A serial type of one byte is below 128.
      if length == 0 { empty = field.types(ofLength: 0) }
      if (1...57).contains(length) { candidates = field.types(ofLength: length) }
    }
    let table = space.shape.table
    if table < firstTypes.count, !firstTypes[table].isEmpty {
      candidates += firstTypes[table]
    } else if field.classes.contains(.integer) {
      candidates += [1, 2, 3, 4, 6]
    }
    return candidates + empty
  }
}
