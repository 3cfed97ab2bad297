import RowText
import SQLiteFile

/// Decides the ``FileLayout`` of a file by examining a sample of pages from all over the file.
struct LayoutVote {
  private let file: ByteFile
  private static let sampleCount = 600
  private static let sizes = [512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536]

  init(_ file: ByteFile) { self.file = file }

  /// Determines the page size and the other properties that are needed to read pages. Returns nil if nothing in the
  /// file looks like a database. `sidePageSize`: the page size that the log or the journal states; nil if neither
  /// states one.
  func decide(sidePageSize: Int?) throws(SQLiteFileError) -> FileLayout? {
    let header = try file.databaseHeader(at: 0)
    // Reserved bytes are rare: the number in the header counts only if the pages agree with it.
    let reserved = min(header?.reservedBytes ?? 0, 255)
    var base: Int64 = 0
    var best: Score?
    var own: Score?
    if let size = header?.pageSize { own = try score(size, base, orReserved: reserved) }
    if let own, own.score > 0.97 {
      // Nearly all pages are of the size in the header, so no other size can score better.
      best = own
    } else {
      for size in Self.sizes {
        let found =
          try size == own?.size ? own : score(size, base, orReserved: reserved)
        if let found, found.score > (best?.score ?? 0) * 1.05 { best = found }
      }
    }
    if (best?.score ?? 0) < 0.02, header == nil, let found = try findHeader() {
      return FileLayout(
        pageSize: found.header.pageSize, reservedBytes: found.header.reservedBytes,
        textEncoding: found.header.textEncoding, origin: found.offset,
        hasPointerMap: found.header.hasPointerMap, header: found.header, pageSizeSource: .header,
        encodingSource: .header)
    }
    if (best?.score ?? 0) < 0.5, header == nil {
      // Few pages begin at multiples of the page size: look for another offset at which pages begin.
      if let shifted = try findBase(), shifted.score.score > (best?.score ?? 0) * 1.5 {
        base = shifted.base
        best = shifted.score
      }
    }
    var layout: FileLayout
    // Several pages that agree overrule the header. A single page that happens to look like a larger page does not.
    let isOverruled =
      best.map { $0.count >= 3 && $0.score > 2 * (own?.score ?? 0) && $0.score >= 0.02 } ?? false
    if let header, !isOverruled {
      layout = FileLayout(
        pageSize: header.pageSize, reservedBytes: header.reservedBytes,
        textEncoding: header.textEncoding, origin: 0, hasPointerMap: header.hasPointerMap,
        header: header, pageSizeSource: .header, encodingSource: .header)
    } else if let best {
      layout = FileLayout(
        pageSize: best.size, reservedBytes: best.reserved, textEncoding: .utf8, origin: base,
        hasPointerMap: false, header: nil, refusedHeader: header, pageSizeSource: .pages,
        encodingSource: .assumed)
    } else if let sidePageSize {
      layout = FileLayout(
        pageSize: sidePageSize, reservedBytes: 0, textEncoding: .utf8, origin: 0,
        hasPointerMap: false, header: nil, pageSizeSource: .log, encodingSource: .assumed)
    } else {
      return nil
    }
    if let best, best.size == layout.pageSize, best.score >= 0.02,
      best.ends[layout.reservedBytes, default: 0] * 5 < best.ends[best.reserved, default: 0]
    {
      // More than five times as many pages fit `best.reserved` as fit the number of reserved bytes in the layout.
      layout.reservedBytes = best.reserved
    }
    let encoding = try votedEncoding(layout)
    if let encoding, layout.header == nil || encoding != layout.textEncoding {
      layout.textEncoding = encoding
      layout.encodingSource = .pages
    }
    if layout.header == nil {
      try placeHead(&layout)
      if layout.origin > 0, let header = try file.databaseHeader(at: layout.origin),
        header.pageSize == layout.pageSize
      {
        layout.header = header
        layout.hasPointerMap = header.hasPointerMap
      }
    }
    if layout.header == nil { layout.hasPointerMap = try votedPointerMap(layout) }
    return layout
  }

  // MARK: - Page size

  private struct Score {
    var size: Int
    /// The proportion of sampled pages, from 0 to 1, that are complete b-tree pages if the page size is ``size`` and
    /// ``reserved`` bytes are free at the end of each page.
    var score = 0.0
    /// `ends`: for each number of free bytes at the end of a page, the number of complete pages that have so many.
    /// `reserved`: the number of free bytes that the most complete pages have.
    var reserved = 0
    var ends: [Int: Int] = [:]
    var count = 0
  }

  /// Returns the better of two scores of the page size `size`: the score for pages without reserved bytes, and the
  /// score for pages with `reserved` reserved bytes at their end.
  private func score(_ size: Int, _ base: Int64, orReserved reserved: Int) throws(SQLiteFileError)
    -> Score
  {
    let found = try score(size, base, reserved: 0)
    guard reserved > 0 else { return found }
    let other = try score(size, base, reserved: reserved)
    return other.score > found.score ? other : found
  }

  private func score(_ size: Int, _ base: Int64, reserved: Int) throws(SQLiteFileError) -> Score {
    let count = (file.size - base) / Int64(size)
    guard count > 0 else { return Score(size: size) }
    let step = max(1, count / Int64(Self.sampleCount))
    var sampled = 0
    var ends: [Int: Int] = [:]
    var index: Int64 = 0
    var bytes = ContiguousArray<UInt8>(repeating: 0, count: size)
    let head = min(size, Self.headLength)
    while index < count {
      let offset = base + index * Int64(size)
      let isFirst = index == 0 && base == 0
      index += step
      // Most blocks that are not pages can be ruled out by their first byte.
      guard try file.read(at: offset, into: &bytes, 0..<128) == 128 else { continue }
      sampled += 1
      let start = isFirst && Self.isPageOne(bytes.rawSpan) ? DatabaseHeader.length : 0
      guard BTreePage.Kind(rawValue: bytes.rawSpan.byte(at: start)) != nil,
        try file.read(at: offset + 128, into: &bytes, 128..<head) == head - 128,
        Self.mayBePage(bytes.rawSpan.part(0, head), start, size, reserved: reserved),
        try file.read(at: offset + Int64(head), into: &bytes, head..<size) == size - head,
        let end = Self.contentEnd(bytes.rawSpan, start, reserved: reserved)
      else { continue }
      ends[size - end, default: 0] += 1
    }
    guard sampled > 0, let most = ends.max(by: { ($0.value, -$0.key) < ($1.value, -$1.key) })
    else { return Score(size: size) }
    return Score(
      size: size, score: Double(most.value) / Double(sampled), reserved: most.key, ends: ends,
      count: most.value)
  }

  /// The number of bytes at the start of a block that are read before the rest of the block. These bytes rule out most
  /// blocks that are not pages (``mayBePage(_:_:_:reserved:)``).
  private static let headLength = 4096

  /// Whether a block may be a b-tree page, judged by its first bytes. If false, ``contentEnd(_:_:reserved:)`` would
  /// return nil for the whole block.
  private static func mayBePage(_ head: RawSpan, _ base: Int, _ size: Int, reserved: Int) -> Bool {
    guard base + 12 <= size, let kind = BTreePage.Kind(rawValue: head.byte(at: base)) else {
      return false
    }
    let count = Int(head.uint16(at: base + 3))
    let pointers = base + (kind.isLeaf ? 8 : 12)
    let floor = pointers + 2 * count
    guard count > 0, floor + 4 * count <= size else { return false }
    // If there is no free space among the cells or after them, the content ends where the last cell ends.
    guard size > head.byteCount, floor <= head.byteCount, head.uint16(at: base + 1) == 0,
      head.byte(at: base + 7) == 0
    else { return true }
    var last = 0
    for index in 0..<count { last = max(last, Int(head.uint16(at: pointers + 2 * index))) }
    // In a cell, at most 22 bytes precede the payload.
    guard last + 22 <= head.byteCount else { return true }
    guard let end = cellEnd(head, at: last, kind, size, reserved: reserved) else { return false }
    return end <= size && size - end <= 255
  }

  private static func isPageOne(_ page: RawSpan) -> Bool {
    BTreePage.Kind(rawValue: page.byte(at: 0)) == nil
  }

  /// Returns the offset at which the last cell of a b-tree page ends; nil if `page` is not a b-tree page with cells.
  /// `base` is the offset of the b-tree header: 100 on page 1, otherwise 0. `reserved` is the number of reserved bytes
  /// at the end of the page.
  static func contentEnd(_ page: RawSpan, _ base: Int, reserved: Int) -> Int? {
    let size = page.byteCount
    guard base + 12 <= size, let kind = BTreePage.Kind(rawValue: page.byte(at: base)) else {
      return nil
    }
    let count = Int(page.uint16(at: base + 3))
    let pointers = base + (kind.isLeaf ? 8 : 12)
    let floor = pointers + 2 * count
    guard count > 0, floor + 4 * count <= size else { return nil }
    let content = BTreePage.contentStart(page, base)
    guard content >= floor, content < size, page.byte(at: base + 7) <= 60 else { return nil }
    var last = 0
    for index in 0..<count {
      let start = Int(page.uint16(at: pointers + 2 * index))
      guard start >= content, start + 4 <= size else { return nil }
      last = max(last, start)
    }
    guard let lastEnd = cellEnd(page, at: last, kind, size, reserved: reserved) else { return nil }
    var end = lastEnd
    // A freeblock may follow the last cell.
    var blocks = 0
    var chain = FreeblockChain(first: Int(page.uint16(at: base + 1)), usableSize: size)
    while let block = chain.next(page) {
      end = max(end, block.end)
      blocks += block.size
    }
    if chain.isBackwards { return nil }
    // If no payload continues on overflow pages, then cells, freeblocks and fragments together fill the page. Their
    // total length therefore includes fragments at the end of the page.
    if kind == .leafTable, end < size, lastEnd < size, page.byte(at: base + 7) > 0,
      let cells = cellsLength(page, pointers, count)
    {
      let whole = content + cells + blocks + Int(page.byte(at: base + 7))
      if whole >= end, whole <= size { end = whole }
    }
    // The header stores the number of reserved bytes in one byte (file format, section 1.3.4).
    guard end <= size, size - end <= 255 else { return nil }
    return end
  }

  /// Returns the offset at which the cell that begins at `start` ends; nil if no cell begins there. `page` has the
  /// whole page of `size` bytes, or only the first bytes of the page.
  private static func cellEnd(
    _ page: RawSpan, at start: Int, _ kind: BTreePage.Kind, _ size: Int, reserved: Int
  ) -> Int? {
    let limit = page.byteCount
    switch kind {
    case .leafTable, .leafIndex, .interiorIndex:
      let lead = kind == .interiorIndex ? 4 : 0
      guard let payload = Varint.read(page, at: start + lead, end: limit) else { return nil }
      var offset = start + lead + payload.length
      if kind == .leafTable {
        guard let key = Varint.read(page, at: offset, end: limit) else { return nil }
        offset += key.length
      }
      guard payload.value <= 1 << 31 else { return nil }
      // The length of a spilling payload's local part depends on the usable size, so the result is right only if
      // `reserved` is right.
      let total = Int(payload.value)
      let local = BTreePage.localLength(
        payload: total, usableSize: size - reserved, isTableLeaf: kind == .leafTable)
      return max(start + 4, offset + local + (local < total ? 4 : 0))
    case .interiorTable:
      guard let key = Varint.read(page, at: start + 4, end: limit) else { return nil }
      return start + 4 + key.length
    }
  }

  /// Searches the first 4 MiB, at every offset, for a database header. Returns the first database header that a b-tree
  /// header follows directly.
  private func findHeader() throws(SQLiteFileError) -> (offset: Int64, header: DatabaseHeader)? {
    let block = ContiguousArray(try file.bytes(at: 0, count: 4 << 20))
    let bytes = block.rawSpan
    var offset = 0
    while offset + DatabaseHeader.length < block.count {
      defer { offset += 1 }
      guard bytes.byte(at: offset) == DatabaseHeader.magic[0],
        let header = try? DatabaseHeader(parsing: bytes.part(offset, DatabaseHeader.length)),
        BTreePage.Kind(rawValue: bytes.byte(at: offset + DatabaseHeader.length)) != nil
      else { continue }
      return (Int64(offset), header)
    }
    return nil
  }

  /// The total length of all cells of a table leaf in bytes. Nil if any cell is not valid or continues on overflow
  /// pages.
  private static func cellsLength(_ page: RawSpan, _ pointers: Int, _ count: Int) -> Int? {
    let size = page.byteCount
    var sum = 0
    for index in 0..<count {
      let start = Int(page.uint16(at: pointers + 2 * index))
      guard let payload = Varint.read(page, at: start, end: size), payload.value <= UInt64(size),
        let key = Varint.read(page, at: start + payload.length, end: size)
      else { return nil }
      let total = Int(payload.value)
      guard BTreePage.localLength(payload: total, usableSize: size, isTableLeaf: true) == total
      else { return nil }
      sum += max(4, payload.length + key.length + total)
    }
    return sum
  }

  /// Searches the first 4 MiB, at every offset, for pages of each page size. Returns the best score of any page size,
  /// and the offset at which pages of that size begin; nil if no page size has at least three pages.
  private func findBase() throws(SQLiteFileError) -> (base: Int64, score: Score)? {
    let block = ContiguousArray(try file.bytes(at: 0, count: 4 << 20))
    let bytes = block.rawSpan
    var best: (base: Int64, score: Score)?
    for size in Self.sizes where block.count >= 4 * size {
      var counts: [Int: Int] = [:]
      var offset = 0
      while offset + size <= block.count {
        if BTreePage.Kind(rawValue: bytes.byte(at: offset)) != nil,
          let end = Self.contentEnd(bytes.part(offset, size), 0, reserved: 0), size - end <= 64
        {
          counts[offset % size, default: 0] += 1
        }
        offset += 1
      }
      guard let most = counts.max(by: { ($0.value, -$0.key) < ($1.value, -$1.key) }),
        most.value >= 3
      else { continue }
      let found = try score(size, Int64(most.key), reserved: 0)
      if found.score > (best?.score.score ?? 0.01) { best = (Int64(most.key), found) }
    }
    return best
  }

  // MARK: - Encoding

  /// The encoding of the text on sampled table leaves; nil if these leaves have no text, or if the text fits several
  /// encodings.
  private func votedEncoding(_ layout: FileLayout) throws(SQLiteFileError)
    -> DatabaseHeader.TextEncoding?
  {
    let size = Int64(layout.pageSize)
    let base = layout.origin >= 0 ? layout.origin : 0
    let count = (file.size - base) / size
    let step = max(1, count / Int64(Self.sampleCount))
    var types = RecordTypes()
    // `even` and `odd` count the zero bytes at even and at odd offsets of strings; `total` counts all bytes of strings.
    var even = 0
    var odd = 0
    var total = 0
    // `texts` counts all strings, and `valid` counts the strings that are valid UTF-8. `hasOddLength`: whether any
    // string has an odd number of bytes.
    var texts = 0
    var valid = 0
    var hasOddLength = false
    var index: Int64 = 0
    while index < count, total < 200_000 {
      let page = ContiguousArray(try file.bytes(at: base + index * size, count: layout.pageSize))
      index += step
      guard page.count == layout.pageSize else { continue }
      let bytes = page.rawSpan
      let start = Self.isPageOne(bytes) ? DatabaseHeader.length : 0
      guard bytes.byte(at: start) == BTreePage.Kind.leafTable.rawValue else { continue }
      let cells = min(64, Int(bytes.uint16(at: start + 3)))
      for cell in 0..<cells where start + 10 + 2 * cell <= layout.usableSize {
        let place = Int(bytes.uint16(at: start + 8 + 2 * cell))
        guard place + 4 <= layout.usableSize,
          let found = LeafCell.parse(
            bytes, at: place, limit: layout.usableSize, usableSize: layout.usableSize,
            maxPayload: 1 << 31, &types)
        else { continue }
        var offset = found.record + found.payload - types.bodyLength
        for type in types.types {
          let length = RecordDecoder.length(ofType: type)
          if type >= 13, type & 1 == 1, offset + length <= found.record + found.local {
            for position in 0..<length where bytes.byte(at: offset + position) == 0 {
              if position & 1 == 0 { even += 1 } else { odd += 1 }
            }
            total += length
            texts += 1
            if UTF8Scan.isValid(bytes.part(offset, length)) { valid += 1 }
            if length & 1 == 1 { hasOddLength = true }
          }
          offset += length
          if offset > found.record + found.local { break }
        }
      }
    }
    guard total > 0 else { return nil }
    // UTF-16 text in scripts other than Latin has few zero bytes, so they do not show the byte order. Such text may
    // also be valid UTF-8, but only if its number of bytes is even.
    guard (even + odd) * 10 > total else {
      return valid * 2 > texts && hasOddLength ? .utf8 : nil
    }
    // If zero bytes are about as frequent at even as at odd offsets, they are characters (U+0000) of UTF-8 text. So the
    // encoding in the header is kept.
    if layout.header?.textEncoding == .utf8, max(even, odd) <= 4 * min(even, odd) { return nil }
    return odd > even ? .utf16LittleEndian : .utf16BigEndian
  }

  // MARK: - Position of page 1

  /// The maximum number of pages that may be missing at the start of a file that has `count` pages.
  private static func maxLostPages(_ count: Int64) -> Int64 { 16 * count + 1024 }

  /// Sets the origin of a layout (the offset of page 1) by a vote of the page numbers in the file. The origin is
  /// negative if pages are missing at the beginning of the file, and greater than 0 if other bytes come first. If there
  /// are too few votes, the origin does not change.
  private func placeHead(_ layout: inout FileLayout) throws(SQLiteFileError) {
    let size = Int64(layout.pageSize)
    let base = layout.origin
    let count = (file.size - base) / size
    // The accepted numbers of missing pages at the beginning of the file; a negative number means that foreign pages
    // come first. Each missing page costs time and memory later, so the limit depends on the file's size.
    let believed = -count...Self.maxLostPages(count)
    var votes: [Int64: Int] = [:]
    var keys: [Int64: Int64] = [:]
    var children: [(page: Int64, key: Int64)] = []
    var overflow = OverflowPlaces()
    var types = RecordTypes()
    var index: Int64 = 0
    while index < count {
      let page = ContiguousArray(try file.bytes(at: base + index * size, count: layout.pageSize))
      guard page.count == layout.pageSize else { break }
      let bytes = page.rawSpan
      let kind = BTreePage.Kind(rawValue: bytes.byte(at: 0))
      let cells = Int(bytes.uint16(at: 3))
      overflow.add(bytes, layout.usableSize)
      if bytes.byte(at: 0) == DatabaseHeader.magic[0],
        let header = try? DatabaseHeader(parsing: bytes), header.pageSize == layout.pageSize
      {
        // This is page 1 itself. A database that is stored as a value in a row also has a page 1, but hardly ever at a
        // page boundary.
        votes[-index, default: 0] += 1000
      }
      if kind == .leafTable, cells > 0, 8 + 2 * cells <= layout.usableSize, keys.count < 200_000 {
        let place = Int(bytes.uint16(at: 8 + 2 * (cells - 1)))
        if place + 4 <= layout.usableSize,
          let cell = LeafCell.parse(
            bytes, at: place, limit: layout.usableSize, usableSize: layout.usableSize,
            maxPayload: 1 << 31, &types)
        {
          // A key that occurs twice proves nothing.
          keys[cell.rowID] = keys[cell.rowID] == nil ? index : -1
        }
      } else if kind == .interiorTable, 12 + 2 * cells <= layout.usableSize {
        for cell in 0..<cells where children.count < 200_000 {
          let place = Int(bytes.uint16(at: 12 + 2 * cell))
          guard place + 5 <= layout.usableSize,
            let key = Varint.read(bytes, at: place + 4, end: layout.usableSize)
          else { continue }
          children.append((Int64(bytes.uint32(at: place)), Int64(bitPattern: key.value)))
        }
      } else if kind == nil {
        // The next page of an overflow chain is usually the next page of the file.
        let next = Int64(bytes.uint32(at: 0))
        if next >= 2, believed.contains(next - (index + 2)) {
          votes[next - (index + 2), default: 0] += 1
        }
      }
      index += 1
    }
    for child in children {
      guard let found = keys[child.key], found >= 0, believed.contains(child.page - 1 - found)
      else { continue }
      votes[child.page - 1 - found, default: 0] += 4
    }
    if votes.values.allSatisfy({ $0 < 8 }), let found = overflow.distance() {
      votes[found.distance, default: 0] += found.count
    }
    // If two distances differ only in sign, missing pages are more likely than foreign bytes before the database.
    guard
      let winner = votes.max(by: {
        ($0.value, -abs($0.key), $0.key) < ($1.value, -abs($1.key), $1.key)
      }), winner.value >= 3
    else { return }
    // A distance of more pages than the file still has needs more votes, because a few votes may agree by chance.
    guard winner.key <= count || winner.value >= 8 else { return }
    layout.origin = base - winner.key * size
  }

  // MARK: - Pointer map

  /// Whether the file has a pointer map. Of the first 50 positions for pointer-map pages, more than half must have a
  /// page that looks like a pointer-map page.
  private func votedPointerMap(_ layout: FileLayout) throws(SQLiteFileError) -> Bool {
    let stride = Int64(layout.usableSize / 5 + 1)
    let most = (file.size - layout.origin) / Int64(layout.pageSize)
    var number: Int64 = 2
    var looked = 0
    var held = 0
    while number <= most, looked < 50 {
      let offset = layout.origin + (number - 1) * Int64(layout.pageSize)
      number += stride
      guard offset >= 0 else { continue }
      let page = ContiguousArray(try file.bytes(at: offset, count: layout.pageSize))
      guard page.count == layout.pageSize else { continue }
      looked += 1
      var entries = 0
      for index in 0..<min(32, layout.usableSize / 5) {
        let type = page.rawSpan.byte(at: index * 5)
        let parent = Int64(page.rawSpan.uint32(at: index * 5 + 1))
        if (1...5).contains(type), parent <= most, (parent == 0) == (type <= 2) { entries += 1 }
      }
      // Each page after the pointer-map page has an entry, up to the end of the file.
      let due = min(Int64(min(32, layout.usableSize / 5)), most - (number - stride))
      if entries * 2 > due { held += 1 }
    }
    return held * 2 > looked
  }
}
