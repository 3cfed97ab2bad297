import SQLiteFile

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
    /// Where on the page a newer cell was written over this one and freed in its turn; nil for nowhere.
    var newer: Int?
  }

  let usableSize: Int
  let mostPayload: Int
  let encoding: DatabaseHeader.TextEncoding
  /// The first serial types that rows of each table have, the most frequent first.
  var firstTypes: [[UInt64]] = []
  private var types = RecordTypes()
  /// For the search after newer cells, with a budget of its own: what it costs must cost no row.
  private var newerTypes = RecordTypes()
  /// The most fields that a beheaded cell can have, by where its header began.
  private var mostFields = ContiguousArray<Int>(repeating: 0, count: 6)
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
    newerTypes.renewBudget(usableSize: usableSize)
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
        offset = keep(find, page, region.upperBound, nil, shapes)
        isBoundary = true
        continue
      }
      let stale = exact == nil && !wholeOnly ? staleBlock(page, offset) : nil
      if let stale,
        let find = headless(
          page, offset, region.upperBound, stale, isStale: true, shapes, own),
        own != nil || find.cell.end == offset + stale
      {
        offset = keep(find, page, region.upperBound, stale, shapes)
        isBoundary = true
        continue
      }
      if isBoundary, !wholeOnly,
        let find = headless(page, offset, region.upperBound, exact, shapes, own)
      {
        offset = keep(find, page, region.upperBound, exact, shapes)
        continue
      }
      isBoundary = false
      offset += 1
    }
    confirm(page, region, freeBlocks, from: firstFind)
  }

  /// Confirms the ends of finds, and what was guessed of their beginnings, by what begins there.
  ///
  /// Bytes that look like the header of a block stand anywhere, so that one tells only where its block ends at a border, too.
  private mutating func confirm(
    _ page: RawSpan, _ region: Range<Int>, _ freeBlocks: [Range<Int>], from first: Int
  ) {
    var borders: Set<Int> = [region.upperBound]
    for block in freeBlocks { borders.formUnion([block.lowerBound, block.upperBound]) }
    for find in finds[first...] { borders.insert(find.cell.start) }
    // Up to three bytes behind a cell are in no block (file format, section 1.6).
    func isBorder(_ end: Int) -> Bool { (end...end + 3).contains { borders.contains($0) } }
    for index in finds.indices.dropFirst(first) where finds[index].newer == nil {
      let end = finds[index].cell.end
      if index + 1 < finds.count, finds[index + 1].cell.start == end {
        finds[index].cell.isFirstDoubtful = false
      }
      guard finds[index].cell.isEndDoubtful else { continue }
      finds[index].cell.isEndDoubtful =
        !isBorder(end)
        && !(end...end + 3).contains { start in
          start + 4 <= region.upperBound
            && staleBlock(page, start, least: 4).map { isBorder(start + $0) } ?? false
        }
    }
  }

  /// Keeps a find.
  /// - Returns: where the next one may begin: behind it, or where it was written over.
  private mutating func keep(
    _ find: Find, _ page: RawSpan, _ limit: Int, _ exact: Int?, _ shapes: [RowShape]
  ) -> Int {
    var find = find
    let shape = shapes[find.shape]
    swap(&types, &newerTypes)
    find.newer = newer(in: find.cell, page, limit, shape)
    swap(&types, &newerTypes)
    // A block that is as long as the cell says where that ended.
    let size = exact ?? 0
    find.cell.isEndDoubtful =
      find.newer == nil && !(find.cell.length...find.cell.length + 3).contains(size)
    finds.append(find)
    return find.newer ?? find.cell.end
  }

  /// The size of a free block that was, whose header stands in space that is free as a whole now.
  private func staleBlock(_ page: RawSpan, _ offset: Int, least: Int = 8) -> Int? {
    let next = Int(page.uint16(at: offset))
    let size = Int(page.uint16(at: offset + 2))
    guard size >= least, offset + size <= usableSize, next == 0 || next >= offset + size,
      next + 4 <= usableSize
    else { return nil }
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
    // Outside the page's own table, and where no cell was expected, a few small integers prove nothing; nor do NULLs.
    guard
      shape == own
        ? atBoundary || types.types.contains(where: { $0 != 0 })
        : shapes[shape].fields.count > 2 && bodyLength >= (atBoundary ? 8 : 12)
    else { return nil }
    return Find(
      cell: cell, shape: shape, isAmbiguous: count > 1,
      confidence: (atBoundary ? 95 : 85) - (shape == own ? 0 : 10))
  }

  // MARK: - Newer cells inside older ones

  /// Where in a cell a newer one of the same table was written, which was freed in its turn; nil for nowhere.
  ///
  /// SQLite takes the space of a new cell from the end of a free block (`pageFindSlot`), and so from the end of an
  /// older cell whose beginning stays as it was. The newer one's own end may have gone the same way, and its first four
  /// bytes to the header of a free block. Its lengths must lead to the end of the older one: any bytes may look like
  /// the types of a record.
  private mutating func newer(
    in cell: LeafCell, _ page: RawSpan, _ limit: Int, _ shape: RowShape
  ) -> Int? {
    guard !shape.isFormless else { return nil }
    // The record of a cell that begins on the last bytes of this one stands behind it.
    for offset in cell.start + 5..<max(cell.start + 5, min(cell.end + Self.longestPrefix, limit)) {
      if let whole = newerWhole(page, record: offset, cell, limit, shape) { return whole }
      guard offset < cell.end else { continue }
      if let newer = newerBeheaded(page, offset, cell.end, limit, shape),
        leads(page, from: newer.end, to: cell.end, limit, shape)
      {
        return offset
      }
      if let start = strayRecord(page, at: offset, cell, limit, shape) { return start }
    }
    return nil
  }

  /// Where a cell began whose record's header stands inside another cell, though what stood before that header has gone to
  /// still another one: cells of several times lie over each other where SQLite moved them within the page.
  private mutating func strayRecord(
    _ page: RawSpan, at record: Int, _ older: LeafCell, _ limit: Int, _ shape: RowShape
  ) -> Int? {
    let body =
      older.record
      + (older.isHeadless
        ? older.headerLength - older.lostHeader.count : Int(page.byte(at: older.record)))
    let header = Int(page.byte(at: record))
    guard record >= body, header > shape.leastFieldCount, header < 128, record + header <= limit,
      shape.fittingCount(page, at: record + 1, end: record + header, from: 0)
        >= shape.leastFieldCount,
      types.read(page, record + 1..<record + header), shape.fits(types), areTelling(3, shape),
      types.bodyLength >= 6
    else { return nil }
    let end = min(record + header + types.bodyLength, limit)
    types.spend(bytes: end - record)
    guard
      shape.fitsValues(types, page, body: record + header, end: end, encoding: encoding)
    else { return nil }
    // The length of the payload and the row id take about as many bytes as the older cell's.
    let lead = older.isHeadless ? 4 : max(4, older.record - older.start)
    return max(older.start + 5, record - lead)
  }

  /// The start of a newer whole cell with its record at an offset.
  private mutating func newerWhole(
    _ page: RawSpan, record: Int, _ older: LeafCell, _ limit: Int, _ shape: RowShape
  ) -> Int? {
    // The lengths of header and payload are only looked at where the header's first two bytes may be its.
    let header = Int(page.byte(at: record))
    guard header > shape.leastFieldCount, header < 128, record + header < limit,
      let field = shape.fields.first
    else { return nil }
    let first = UInt64(page.byte(at: record + 1))
    guard first >= 128 || field.classes.contains(StorageClasses(serialType: first)) else {
      return nil
    }
    let least = max(older.start + 5, record - Self.longestPrefix)
    for start in least..<max(least, min(older.end, record - 1)) {
      // SQLite writes no number with zeros in front: those are the older cell's last byte.
      guard page.byte(at: start) != 0x80, let payload = Varint.read(page, at: start, end: record),
        let key = Varint.read(page, at: start + payload.length, end: record),
        start + payload.length + key.length == record,
        let cell = LeafCell.parse(
          page, at: start, limit: usableSize, usableSize: usableSize, mostPayload: mostPayload,
          &types), shape.fits(types), types.bodyLength >= 4, areTelling(2, shape),
        holds(page, cell.record + cell.payload - types.bodyLength, cell, limit, shape),
        leads(page, from: cell.end, to: older.end, limit, shape)
      else { continue }
      return start
    }
    return nil
  }

  /// Lengths of payload and row id before a record, of no more than four and nine bytes.
  private static let longestPrefix = 13

  /// A cell that lost its first four bytes to the header of a block that it is in.
  private mutating func newerBeheaded(
    _ page: RawSpan, _ start: Int, _ goal: Int, _ limit: Int, _ shape: RowShape
  ) -> LeafCell? {
    guard start + 8 <= limit, let size = staleBlock(page, start) else { return nil }
    for header in start + 2...start + 7 {
      let most = fieldCount(page, start, header, limit, shape)
      guard most >= shape.leastFieldCount else { continue }
      for count in shape.leastFieldCount...most {
        // A block is longer where it was joined with those behind it, or took in bytes that were in none.
        guard
          let cell = beheaded(
            page, start, header, limit, nil, shape, fieldCount: count, mayBeCut: true),
          cell.length <= size, types.bodyLength >= 6, areTelling(3, shape),
          holds(page, header + cell.payload - types.bodyLength, cell, limit, shape),
          cell.end <= goal + 3 || cell.end >= limit
            || isFollowed(page, cell.end, start, limit, nil, shape),
          !isRecord(page, at: header, ofCellBehind: goal)
        else { continue }
        return cell
      }
    }
    return nil
  }

  /// Whether a record is that of the whole cell that follows, so that what stands before it is no block's header.
  private mutating func isRecord(_ page: RawSpan, at header: Int, ofCellBehind end: Int) -> Bool {
    (end...end + 3).contains { start in
      LeafCell.parse(
        page, at: start, limit: usableSize, usableSize: usableSize, mostPayload: mostPayload,
        &types)?.record == header
    }
  }

  /// Whether the values at hand that stand on the page can be those of a row. What is behind `limit` was written over.
  private mutating func holds(
    _ page: RawSpan, _ body: Int, _ cell: LeafCell, _ limit: Int, _ shape: RowShape
  ) -> Bool {
    let end = min(cell.end - (cell.spills ? 4 : 0), limit)
    types.spend(bytes: end - body)
    return shape.fitsValues(types, page, body: body, end: end, encoding: encoding)
  }

  /// Whether cells follow each other from `end` to where the older cell ended.
  private mutating func leads(
    _ page: RawSpan, from end: Int, to goal: Int, _ limit: Int, _ shape: RowShape
  ) -> Bool {
    var end = end
    for _ in 0..<Self.mostSteps {
      // Up to three bytes behind a cell are in no block.
      if end >= goal - 3 { return true }
      var next: Int?
      for start in end...end + 3 where next == nil && start + 8 <= limit {
        if let cell = LeafCell.parse(
          page, at: start, limit: usableSize, usableSize: usableSize, mostPayload: mostPayload,
          &types), shape.fits(types), areTelling(2, shape)
        {
          next = cell.end
        } else if let cell = newerBeheaded(page, start, goal, limit, shape) {
          next = cell.end
        }
      }
      guard let next else { return false }
      end = next
    }
    return false
  }

  /// Most cells that may follow each other in the space of one.
  private static let mostSteps = 64

  /// Whether the types at hand are more than the NULLs that zeros look like: `count` of them, or all where the table has
  /// fewer columns.
  private func areTelling(_ count: Int, _ shape: RowShape) -> Bool {
    let columns = shape.fields.count - (shape.rowIDField == nil ? 0 : 1)
    return types.types.count(where: { $0 != 0 }) >= min(count, columns)
  }

  // MARK: - Tables

  /// The shape that the types at hand fit, the page's own first; and how many fit as well.
  private mutating func best(
    _ page: RawSpan, _ body: Int, _ end: Int, _ shapes: [RowShape], _ own: Int?
  ) -> (shape: Int, count: Int)? {
    func fits(_ shape: RowShape) -> Bool {
      guard shape.fits(types) else { return false }
      types.spend(bytes: end - body)
      return shape.fitsValues(types, page, body: body, end: end, encoding: encoding)
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
      // Lengths of payload and row id that leave the header where bytes are left: see the cell's form.
      for place in 0..<6 {
        mostFields[place] = fieldCount(page, start, start + 2 + place, limit, shape)
      }
      guard let most = mostFields.max(), most >= shape.leastFieldCount else { continue }
      for count in (shape.leastFieldCount...most).reversed() {
        for place in 0..<6 where count <= mostFields[place] {
          guard
            let cell = beheaded(
              page, start, start + 2 + place, limit, exact, shape, fieldCount: count)
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
          if lands(page, cell.end, start, limit, exact, shape) { return find }
          // The two small numbers of a row that joins two others stand anywhere, in old cell pointers for one.
          let body = cell.record + cell.headerLength - 1 - cell.lostTypes
          if fallback == nil, shape.fields.count > 2, body < cell.end,
            !Self.isBlank(page, body..<cell.end)
          {
            fallback = find
            fallback?.cell.isFirstDoubtful = cell.lostTypes > 0 && shape.rowIDField != 0
            fallback?.confidence = 5
          }
        }
      }
    }
    return fallback
  }

  private static func isBlank(_ page: RawSpan, _ range: Range<Int>) -> Bool {
    range.allSatisfy { page.byte(at: $0) == 0 }
  }

  /// How many fields of a shape the types fit where those of a beheaded cell would stand.
  private func fieldCount(
    _ page: RawSpan, _ start: Int, _ header: Int, _ limit: Int, _ shape: RowShape
  ) -> Int {
    // With the header's length the types' own place is lost as well, and at last the first of them.
    shape.fittingCount(
      page, at: max(start + 4, header + 1), end: limit, from: header == start + 2 ? 1 : 0)
  }

  /// Whether a cell that begins at `start` and ends at `end` does so where another one begins, or where the block ends.
  ///
  /// `mayBeCut`: whether it is enough that the other one begins there, though its own end was written over, or
  /// nothing but its block's header is left.
  private mutating func lands(
    _ page: RawSpan, _ end: Int, _ start: Int, _ limit: Int, _ exact: Int?, _ shape: RowShape,
    mayBeCut: Bool = false
  ) -> Bool {
    if end == limit || exact.map({ end == start + $0 }) ?? false { return true }
    guard end + 4 <= limit else { return false }
    if staleBlock(page, end, least: mayBeCut ? 4 : 8) != nil { return true }
    return LeafCell.parse(
      page, at: end, limit: mayBeCut ? usableSize : limit, usableSize: usableSize,
      mostPayload: mostPayload, &types) != nil && shape.fits(types)
  }

  /// Whether anything begins where a cell ends, or up to three bytes behind: so many SQLite leaves that are in no block
  /// (file format, section 1.6).
  private mutating func isFollowed(
    _ page: RawSpan, _ end: Int, _ start: Int, _ limit: Int, _ exact: Int?, _ shape: RowShape
  ) -> Bool {
    (0...3).contains { lands(page, end + $0, start, limit, exact, shape, mayBeCut: true) }
  }

  /// A cell at `start` of which the record's header began at `header`; its types are at hand afterwards.
  ///
  /// `mayBeCut`: whether its end may lie behind `limit`; then its values are not looked at.
  private mutating func beheaded(
    _ page: RawSpan, _ start: Int, _ header: Int, _ limit: Int, _ exact: Int?, _ shape: RowShape,
    fieldCount: Int, mayBeCut: Bool = false
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
      var found: LeafCell?
      for first in firstCandidates(shape, exact: exact, rest: rest, header: headerLength) {
        let firstLength = RecordDecoder.length(ofType: first)
        let payload = headerLength + firstLength + rest
        guard payload < 128, mayBeCut || header + payload <= limit,
          exact.map({ 2 + payload <= $0 }) ?? true,
          types.read(page, at: lost, count: fieldCount - 1, end: limit) != nil
        else { continue }
        types.prepend(first)
        guard shape.fits(types),
          mayBeCut
            || shape.fitsValues(
              types, page, body: body, end: header + payload, encoding: encoding)
        else { continue }
        let cell = LeafCell(
          start: start, length: max(4, 2 + payload), rowID: 0, record: lost, payload: payload,
          local: payload, hasRowID: false, lostTypes: 1, firstType: first, isHeadless: true,
          headerLength: headerLength)
        if found == nil { found = cell }
        if lands(page, cell.end, start, limit, exact, shape) {
          found = cell
          break
        }
      }
      // Other candidates and what follows have been read since; the types at hand are to be the cell's.
      guard let found, types.read(page, at: lost, count: fieldCount - 1, end: limit) != nil else {
        return nil
      }
      types.prepend(found.firstType)
      return found
    case 3:
      guard let body = types.read(page, at: lost, count: fieldCount, end: limit) else { return nil }
      return sized(page, start, header, body, types: lost, limit, exact, shape, mayBeCut)
    default:
      // What is left of a block may be as short as its header, and stand right before a whole cell.
      for whole in start + 4..<max(start + 4, header - 1)
      where LeafCell.parse(
        page, at: whole, limit: usableSize, usableSize: usableSize, mostPayload: mostPayload,
        &types)?.record == header
      {
        return nil
      }
      guard header < limit, case let length = Int(page.byte(at: header)), length < 128,
        let body = types.read(page, at: header + 1, count: fieldCount, end: limit),
        body - header == length
      else { return nil }
      return sized(
        page, start, header, body, types: header + 1, limit, exact, shape, mayBeCut)
    }
  }

  /// A beheaded cell all of whose types are there.
  private mutating func sized(
    _ page: RawSpan, _ start: Int, _ header: Int, _ body: Int, types typesStart: Int, _ limit: Int,
    _ exact: Int?, _ shape: RowShape, _ mayBeCut: Bool
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
    guard mayBeCut || start + length <= limit, exact.map({ length <= $0 }) ?? true else {
      return nil
    }
    if !mayBeCut {
      types.spend(bytes: local)
      guard shape.fitsValues(types, page, body: body, end: header + local, encoding: encoding)
      else { return nil }
    }
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
