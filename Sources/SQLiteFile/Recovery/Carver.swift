/// Finds cells in space that no live cell holds: free blocks, gaps, trunk pages, pages nobody leads to.
///
/// A freed cell keeps its bytes but the first four, over which SQLite writes the free block's header (file format,
/// section 1.6); where free blocks were joined only the first four bytes of the lowest one count, so that inside a
/// block whole cells and beheaded ones follow each other without gaps.
struct Carver {
  /// A cell found in free space.
  struct Find {
    var cell: LeafCell
    /// The table whose rows look like it.
    var shape: Int
    /// Whether other tables have rows that look like it.
    var isAmbiguous = false
    var confidence: Int
  }

  let usableSize: Int
  let mostPayload: Int
  let encoding: DatabaseHeader.TextEncoding
  /// The first serial types that rows of each table have, the most frequent first.
  var firstTypes: [[UInt64]] = []
  private var types = RecordTypes()
  private(set) var finds: [Find] = []

  init(usableSize: Int, mostPayload: Int, encoding: DatabaseHeader.TextEncoding) {
    self.usableSize = usableSize
    self.mostPayload = mostPayload
    self.encoding = encoding
  }

  /// Carves a region of a page.
  ///
  /// `freeBlocks`: those inside the region, by their start.
  /// `shapes`: what rows may look like.
  /// `wholeOnly`: leaves cells without their heads out, for pages that were no leaves.
  /// `own`: the table of the page, whose rows are looked for first and also without their heads; nil when it is
  /// not known.
  mutating func carve(
    _ page: RawSpan, _ region: Range<Int>, freeBlocks: [Range<Int>], shapes: [RowShape], own: Int?,
    wholeOnly: Bool = false
  ) {
    guard region.count >= 4, region.upperBound <= page.byteCount else { return }
    types.renewBudget(usableSize: usableSize)
    var offset = region.lowerBound
    var block = 0
    // Where a cell must begin if cells lie here without gaps.
    var isBoundary = false
    let firstFind = finds.count
    while offset + 4 <= region.upperBound {
      while block < freeBlocks.count, freeBlocks[block].lowerBound < offset { block += 1 }
      var exact: Int?
      if block < freeBlocks.count, freeBlocks[block].lowerBound == offset {
        exact = freeBlocks[block].count
        isBoundary = true
      }
      if exact == nil, page.byte(at: offset) != 0,
        let find = whole(page, offset, region.upperBound, shapes, own, atBoundary: isBoundary)
      {
        finds.append(find)
        offset = find.cell.end
        isBoundary = true
        continue
      }
      let stale = exact == nil && !wholeOnly ? staleBlock(page, offset, region.upperBound) : nil
      if let stale,
        let find = headless(
          page, offset, region.upperBound, stale, isStale: true, shapes, own),
        own != nil || find.cell.end == offset + stale
      {
        finds.append(find)
        offset = find.cell.end
        isBoundary = true
        continue
      }
      if isBoundary, !wholeOnly,
        let find = headless(page, offset, region.upperBound, exact, shapes, own)
      {
        finds.append(find)
        offset = find.cell.end
        continue
      }
      isBoundary = false
      offset += 1
    }
    // A guess is confirmed by another row that begins where it ends.
    for index in finds.indices.dropFirst(firstFind).dropLast()
    where finds[index + 1].cell.start == finds[index].cell.end {
      finds[index].cell.isDoubtful = false
    }
  }

  /// The size of a free block that was, whose header stands in space that is free as a whole now.
  private func staleBlock(_ page: RawSpan, _ offset: Int, _ limit: Int) -> Int? {
    let next = Int(page.uint16(at: offset))
    let size = Int(page.uint16(at: offset + 2))
    guard size >= 8, next == 0 || next >= offset + size, next + 4 <= usableSize else { return nil }
    return size
  }

  mutating func removeAll() { finds.removeAll(keepingCapacity: true) }

  // MARK: - Whole cells

  private mutating func whole(
    _ page: RawSpan, _ offset: Int, _ limit: Int, _ shapes: [RowShape], _ own: Int?,
    atBoundary: Bool
  ) -> Find? {
    guard
      let cell = LeafCell.parse(
        page, at: offset, limit: limit, usableSize: usableSize, mostPayload: mostPayload, &types)
    else { return nil }
    let bodyLength = types.bodyLength
    let body = cell.record + cell.payload - bodyLength
    let end = min(cell.record + cell.local, limit)
    guard let (shape, count) = best(page, body, end, shapes, own) else { return nil }
    if hasNewer(page, offset, cell.end, limit, shapes[shape]) { return nil }
    // Outside the page's own table, and where no cell was expected, a few small integers prove nothing.
    guard shape == own || shapes[shape].fields.count > 2 && bodyLength >= (atBoundary ? 8 : 12)
    else { return nil }
    return Find(
      cell: cell, shape: shape, isAmbiguous: count > 1,
      confidence: (atBoundary ? 95 : 85) - (shape == own ? 0 : 10))
  }

  /// Whether a whole cell begins inside another and goes on behind it: then it was written later, over the
  /// other's end.
  private mutating func hasNewer(
    _ page: RawSpan, _ start: Int, _ end: Int, _ limit: Int, _ shape: RowShape
  ) -> Bool {
    guard end < limit, end - start < 1024 else { return false }
    for offset in start + 5..<max(start + 5, end - 3) where page.byte(at: offset) != 0 {
      if let cell = LeafCell.parse(
        page, at: offset, limit: limit, usableSize: usableSize, mostPayload: mostPayload, &types),
        cell.end > end, types.bodyLength >= 8, shape.fits(types),
        shape.fitsValues(
          types, page, body: cell.record + cell.payload - types.bodyLength,
          end: min(cell.record + cell.local, limit), encoding: encoding)
      {
        return true
      }
    }
    return false
  }

  /// The shape that the types at hand fit, the page's own first; and how many fit as well.
  private func best(
    _ page: RawSpan, _ body: Int, _ end: Int, _ shapes: [RowShape], _ own: Int?
  ) -> (shape: Int, count: Int)? {
    func fits(_ shape: RowShape) -> Bool {
      shape.fits(types)
        && shape.fitsValues(types, page, body: body, end: end, encoding: encoding)
    }
    if let own, fits(shapes[own]) { return (own, 1) }
    var found: Int?
    var count = 0
    for (index, shape) in shapes.enumerated() where index != own && fits(shape) {
      if let other = found {
        if shape.weight > shapes[other].weight {
          found = index
          count = 1
        } else if shape.weight == shapes[other].weight {
          count += 1
        }
      } else {
        found = index
        count = 1
      }
    }
    return found.map { ($0, count) }
  }

  // MARK: - Beheaded cells

  /// A cell at `start` whose first four bytes are lost.
  ///
  /// `exact`: the size of the free block that starts here, which is that of the cell unless it was
  ///   joined with others.
  private mutating func headless(
    _ page: RawSpan, _ start: Int, _ limit: Int, _ exact: Int?, isStale: Bool = false,
    _ shapes: [RowShape], _ own: Int?
  ) -> Find? {
    var fallback: Find?
    // Without a page's own table only shapes with some columns tell enough.
    let order = own.map { [$0] } ?? shapes.indices.filter { shapes[$0].fields.count > 2 }
    for index in order {
      let shape = shapes[index]
      for count in (shape.leastFieldCount...shape.fields.count).reversed() {
        // Lengths of payload and row id that leave the header where bytes are left: see the cell's form.
        for headerStart in [start + 2, start + 3, start + 4, start + 5, start + 6, start + 7] {
          guard
            let cell = beheaded(
              page, start, headerStart, limit, exact, shape, fieldCount: count)
          else { continue }
          // A few bytes look like a row of small integers all too often: then a free block must say so.
          if cell.payload - cell.headerLength < (own == nil ? 16 : exact == nil || isStale ? 6 : 0)
          {
            continue
          }
          // Zeros look like a row of NULLs anywhere, and where any column holds anything so do all bytes: then only
          // a block of just this length says that there was a cell.
          if Self.isBlank(page, start + 4..<cell.end)
            || (shape.isFormless && exact.map { cell.end != start + $0 } ?? true)
          {
            continue
          }
          let find = Find(
            cell: cell, shape: index, isAmbiguous: own == nil && order.count > 1, confidence: 70)
          if lands(page, cell, start, limit, exact, shape) { return find }
          if fallback == nil {
            fallback = find
            fallback?.cell.isDoubtful = cell.lostTypes > 0 && shape.rowIDField != 0
            fallback?.confidence = 60
          }
        }
      }
    }
    return fallback
  }

  private static func isBlank(_ page: RawSpan, _ range: Range<Int>) -> Bool {
    range.allSatisfy { page.byte(at: $0) == 0 }
  }

  /// Whether a cell ends where another one begins, or where the block does.
  private mutating func lands(
    _ page: RawSpan, _ cell: LeafCell, _ start: Int, _ limit: Int, _ exact: Int?, _ shape: RowShape
  ) -> Bool {
    if cell.end == limit || exact.map({ cell.end == start + $0 }) ?? false { return true }
    guard cell.end + 4 <= limit else { return false }
    if staleBlock(page, cell.end, limit) != nil { return true }
    return LeafCell.parse(
      page, at: cell.end, limit: limit, usableSize: usableSize, mostPayload: mostPayload, &types)
      != nil && shape.fits(types)
  }

  private mutating func beheaded(
    _ page: RawSpan, _ start: Int, _ header: Int, _ limit: Int, _ exact: Int?, _ shape: RowShape,
    fieldCount: Int
  ) -> LeafCell? {
    let lost = start + 4
    switch header - start {
    case 2:
      // Payload length, row id, header length and the first type are one byte each, and all lost.
      guard fieldCount > 1,
        let body = types.read(page, at: lost, count: fieldCount - 1, end: limit)
      else { return nil }
      let rest = types.bodyLength
      let headerLength = body - lost + 2
      var fallback: LeafCell?
      for first in firstCandidates(shape, exact: exact, rest: rest, header: headerLength) {
        let firstLength = RecordDecoder.length(ofType: first)
        let payload = headerLength + firstLength + rest
        guard payload < 128, header + payload <= limit, exact.map({ 2 + payload <= $0 }) ?? true,
          types.read(page, at: lost, count: fieldCount - 1, end: limit) != nil
        else { continue }
        types.prepend(first)
        guard shape.fits(types),
          shape.fitsValues(types, page, body: body, end: header + payload, encoding: encoding)
        else { continue }
        let cell = LeafCell(
          start: start, length: max(4, 2 + payload), rowID: 0, record: lost, payload: payload,
          local: payload, hasRowID: false, lostTypes: 1, firstType: first, isHeadless: true,
          headerLength: headerLength)
        if lands(page, cell, start, limit, exact, shape) { return cell }
        if fallback == nil { fallback = cell }
      }
      return fallback
    case 3:
      guard let body = types.read(page, at: lost, count: fieldCount, end: limit) else { return nil }
      return sized(page, start, header, body, types: lost, limit, exact, shape)
    default:
      guard let length = Varint.read(page, at: header, end: limit), length.value >= 2,
        length.value < 128,
        let body = types.read(
          page, at: header + length.length, count: fieldCount, end: limit),
        body - header == Int(length.value)
      else { return nil }
      return sized(page, start, header, body, types: header + length.length, limit, exact, shape)
    }
  }

  /// A beheaded cell all of whose types are there.
  private func sized(
    _ page: RawSpan, _ start: Int, _ header: Int, _ body: Int, types typesStart: Int, _ limit: Int,
    _ exact: Int?, _ shape: RowShape
  ) -> LeafCell? {
    let payload = body - header + types.bodyLength
    // The payload's length takes one to three bytes, and the row id at least one.
    let prefix = header - start
    let payloadBytes = payload < 128 ? 1 : payload < 16_384 ? 2 : payload < 2_097_152 ? 3 : 4
    guard payload >= 2, payload <= mostPayload, prefix > payloadBytes, body - header < 128,
      shape.fits(types)
    else {
      return nil
    }
    let local = BTreePage.localLength(payload: payload, usableSize: usableSize, isTableLeaf: true)
    let length = max(4, prefix + local + (local < payload ? 4 : 0))
    guard start + length <= limit, exact.map({ length <= $0 }) ?? true,
      shape.fitsValues(types, page, body: body, end: header + local, encoding: encoding)
    else { return nil }
    return LeafCell(
      start: start, length: length, rowID: 0, record: typesStart, payload: payload, local: local,
      hasRowID: false, lostTypes: 0, isHeadless: true, headerLength: body - header)
  }

  /// What the first, lost type can have been.
  private func firstCandidates(_ shape: RowShape, exact: Int?, rest: Int, header: Int) -> [UInt64] {
    guard let field = shape.fields.first else { return [] }
    if field.classes == .null { return [0] }
    var candidates: [UInt64] = []
    if let exact {
      // The block is the cell, so the length of the first value follows.
      let length = exact - 2 - header - rest
      switch length {
      case 1, 2, 3, 4: candidates = [UInt64(length)]
      case 6: candidates = [5]
      case 8: candidates = field.classes.contains(.integer) ? [6, 7] : [7]
      case 0: break
      default:
        if length > 0, length < 57 {
          if field.classes.contains(.text) { candidates.append(UInt64(13 + 2 * length)) }
          if field.classes.contains(.blob) { candidates.append(UInt64(12 + 2 * length)) }
        }
      }
      candidates.removeAll { !field.classes.contains(StorageClasses(serialType: $0)) }
    }
    if shape.table < firstTypes.count, !firstTypes[shape.table].isEmpty {
      candidates += firstTypes[shape.table]
    } else if field.classes.contains(.integer) {
      candidates += [1, 2, 3, 4, 6]
    }
    return candidates
  }
}
