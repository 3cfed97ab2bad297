import SQLiteFile

/// A full-text table, read from its CREATE VIRTUAL TABLE statement.
struct FullTextIndex {
  enum Module {
    /// FTS3 and FTS4 (https://sqlite.org/fts3.html, 11 "Appendix A").
    case fts4
    /// FTS5 (https://sqlite.org/fts5.html).
    case fts5
  }

  let name: String
  let module: Module
  let columns: [String]
  /// A noun phrase for a note that the index is not searched, because the index does not store the positions of words.
  /// Nil if the index can be searched.
  let obstacle: String?
  /// The number of indexes of an FTS3 or FTS4 table: one for whole words, and one for each prefix length.
  let indexCount: Int
  /// Whether an FTS3 or FTS4 table stores document ids in descending order.
  let isDescending: Bool
  /// The tables that can show which rows of the full-text table exist. Each of them has one row for each row of the
  /// full-text table. Only the first of these tables that is in the database is used. `rowIDColumn`: the column with
  /// the row id of the full-text row, which the FTS5 option `content_rowid` names. Nil if both rows have the same row
  /// id.
  ///
  /// The content table comes first, because rows can be deleted from it without an update of the index. The `_docsize`
  /// table comes last.
  let rowTables: [(name: String, rowIDColumn: String?)]

  /// The maximum number of columns that are read: the upper limit of SQLITE_MAX_COLUMN.
  private static let maxColumns = 32_767

  /// Reads a schema entry. Nil if the entry does not define an FTS3, FTS4 or FTS5 table.
  init?(_ entry: SchemaEntry) {
    guard let sql = entry.sql else { return nil }
    let tokens = SQLToken.statement(in: Array(sql.utf8))
    guard tokens.count > 5, tokens[0].isKeyword("CREATE"), tokens[1].isKeyword("VIRTUAL"),
      let using = tokens.firstIndex(where: { $0.isKeyword("USING") }), using + 1 < tokens.count
    else { return nil }
    switch tokens[using + 1].text.lowercased() {
    case "fts3", "fts4": module = .fts4
    case "fts5": module = .fts5
    default: return nil
    }
    name = entry.name
    var columns: [String] = []
    var options: [String: String] = [:]
    for part in SQLToken.arguments(tokens[(using + 2)...]).parts {
      guard let first = part.first else { continue }
      if part.count > 1, part[1].isPunctuation("=") {
        options[first.text.lowercased()] = part.dropFirst(2).map(\.text).joined(separator: " ")
      } else if !(module == .fts4 && first.isKeyword("tokenize")), columns.count < Self.maxColumns {
        columns.append(first.text)
      }
    }
    // FTS3 names its only column "content" when the statement gives no column.
    self.columns = columns.isEmpty ? ["content"] : columns
    isDescending = options["order"]?.lowercased() == "desc"
    indexCount =
      1 + (options["prefix"].map { $0.split { $0 == "," || $0 == " " }.count } ?? 0)
    // An empty `content` option means that the full-text table does not store its texts (a contentless table).
    let content = options["content"] ?? entry.name + "_content"
    let rowID = options["content"] == nil ? nil : options["content_rowid"]
    rowTables = (content.isEmpty ? [] : [(content, rowID)]) + [(entry.name + "_docsize", nil)]
    let detail = options["detail"]?.lowercased() ?? "full"
    obstacle =
      module == .fts5 && detail != "full"
      ? "the full-text table \(entry.name), which does not store the positions of words (detail=\(detail))"
      : nil
  }
}

struct PlacedWord {
  /// The row id of the document.
  let document: Int64
  let column: Int
  let position: Int
  let word: [UInt8]
}

// MARK: - FTS5

/// Reads the words of an FTS5 index, one leaf after the other.
///
/// A leaf begins with two 16-bit offsets: the offset of the first row id that comes before the first term, and the
/// offset of the end of the terms. The bytes before the first term may continue the last document list of the previous
/// leaf. After the terms come the offsets of all terms (`fts5_index.c`, "Segment B-Trees").
struct FTS5Leaves {
  private var segment: Int64 = -1
  private var page: Int64 = -1
  private var word: [UInt8]?
  private var document: Int64 = 0
  /// The first bytes of a position list whose remaining bytes are on the next leaf.
  private var cut: [UInt8] = []
  private var missing = 0

  /// The maximum length of a list of positions, in bytes.
  private static let maxListBytes = 1 << 24
  /// The bits of a row id of the `_data` table, from the highest down: the segment number, a flag for doclist indexes,
  /// the height of the page in the segment's b-tree, and the page number.
  private static let pageBits: Int64 = 31
  private static let segmentShift: Int64 = 37
  /// The first byte of each term in the main index, whose terms are whole words. The terms of prefix indexes begin with
  /// other digits.
  private static let mainIndex = UInt8(ascii: "0")

  /// Reads the words in a row of the FTS5 table `_data`, if the row is a leaf. A list that began on the previous leaf
  /// is continued only if `id` is the next row id.
  ///
  /// - Parameters:
  ///   - id: the row id; nil if it is lost.
  ///   - bytes: the content of the row's blob.
  ///   - receive: receives each word of each document.
  mutating func read(id: Int64?, _ bytes: [UInt8], _ receive: (PlacedWord) -> Void) {
    // The lowest row ids belong to the structure record and the averages, and the highest row ids to the tombstones of
    // a contentless table. A leaf has the height 0.
    if let id, !(1..<1 << 16).contains(id >> Self.segmentShift) || (id >> Self.pageBits) & 0x3f != 0
    {
      return
    }
    let number = id.map { ($0 >> Self.segmentShift, $0 & (1 << Self.pageBits - 1)) }
    let isNext = number.map { $0.0 == segment && $0.1 == page + 1 } ?? false
    (segment, page) = number ?? (-1, -1)
    if !isNext { forget() }
    let content = ContiguousArray(bytes)
    if !read(content.rawSpan, receive) { forget() }
  }

  private mutating func forget() {
    word = nil
    cut = []
    missing = 0
  }

  /// Reads the words of a leaf. Returns false when the leaf contradicts itself.
  private mutating func read(_ bytes: RawSpan, _ receive: (PlacedWord) -> Void) -> Bool {
    guard bytes.byteCount >= 4 else { return false }
    let firstDocument = Int(bytes.uint16(at: 0))
    let end = Int(bytes.uint16(at: 2))
    guard end >= 4, end <= bytes.byteCount else { return false }
    var terms: [Int] = []
    var place = end
    var offset = 0
    while place < bytes.byteCount {
      guard let step = Varint.read(bytes, at: place, end: bytes.byteCount),
        step.value <= UInt64(bytes.byteCount)
      else { return false }
      place += step.length
      offset += Int(step.value)
      guard offset >= 4, offset < end, step.value > 0 else { return false }
      terms.append(offset)
    }
    // If the previous leaf was read, the bytes before the first term continue the last list of that leaf.
    place = 4
    let listEnd = terms.first ?? end
    if word != nil {
      guard documents(bytes, &place, listEnd, firstDocument, isContinued: true, receive) else {
        return false
      }
    }
    for (number, start) in terms.enumerated() {
      var place = start
      var prefix: [UInt8] = []
      if number > 0 {
        guard let count = Varint.read(bytes, at: place, end: end), let word,
          count.value <= UInt64(word.count)
        else { return false }
        place += count.length
        prefix = Array(word.prefix(Int(count.value)))
      }
      guard let count = Varint.read(bytes, at: place, end: end),
        count.value <= UInt64(end - place - count.length)
      else { return false }
      place += count.length
      word = prefix + bytes.part(place, Int(count.value)).array()
      place += Int(count.value)
      cut = []
      missing = 0
      let next = number + 1 < terms.count ? terms[number + 1] : end
      guard documents(bytes, &place, next, -1, isContinued: false, receive) else { return false }
    }
    return true
  }

  /// Reads the list of documents that contain the current word, up to `end`. Returns false when the bytes contradict
  /// the format of FTS5. A row id is stored as the difference from the previous row id. Only the first row id of a word
  /// and the row id at the offset `absolute` are stored in full.
  private mutating func documents(
    _ bytes: RawSpan, _ place: inout Int, _ end: Int, _ absolute: Int, isContinued: Bool,
    _ receive: (PlacedWord) -> Void
  ) -> Bool {
    if isContinued, missing > 0 {
      let count = min(missing, end - place)
      cut += bytes.part(place, count).array()
      place += count
      missing -= count
      if missing == 0 { positions(cut, receive) }
    }
    var isFirst = !isContinued
    while place < end {
      guard let step = Varint.read(bytes, at: place, end: end) else { return false }
      let isWhole = isFirst || place == absolute
      let value = Int64(bitPattern: step.value)
      document = isWhole ? value : document &+ value
      isFirst = false
      place += step.length
      // The size of a list of positions is always on the same leaf as the row id before it.
      guard let size = Varint.read(bytes, at: place, end: end),
        size.value / 2 <= UInt64(Self.maxListBytes)
      else { return false }
      place += size.length
      // The lowest bit of the size is set if the row was deleted.
      let count = Int(size.value / 2)
      let here = min(count, end - place)
      let list = bytes.part(place, here).array()
      place += here
      if here < count {
        cut = list
        missing = count - here
        return place == end
      }
      positions(list, receive)
    }
    return true
  }

  private func positions(_ list: [UInt8], _ receive: (PlacedWord) -> Void) {
    guard let word, word.first == Self.mainIndex else { return }
    let text = Array(word.dropFirst())
    var column = 0
    var position = 0
    let content = ContiguousArray(list)
    let bytes = content.rawSpan
    var place = 0
    while place < bytes.byteCount, let step = Varint.read(bytes, at: place, end: bytes.byteCount) {
      place += step.length
      if step.value == 1 {
        guard let next = Varint.read(bytes, at: place, end: bytes.byteCount) else { return }
        place += next.length
        column = Int(truncatingIfNeeded: next.value & 0xffff)
        position = 0
        continue
      }
      guard step.value >= 2, step.value < 1 << 31 else { return }
      position += Int(step.value) - 2
      guard position < 1 << 31 else { return }
      receive(PlacedWord(document: document, column: column, position: position, word: text))
    }
  }
}

// MARK: - FTS3 and FTS4

/// Reads the words in the leaf nodes of an FTS3 or FTS4 index.
///
/// A leaf begins with 0, followed by the terms. For each term, the leaf has the length of the prefix that the term
/// shares with the previous term, then the rest of the term, then the list of the term's documents
/// (https://sqlite.org/fts3.html, 11.2 "Segment B-Tree Leaf Nodes"). Varints of FTS3 have the lowest seven bits first.
struct FTS4Leaves {
  let isDescending: Bool

  /// Reads the words of a node of a full-text index. A node that is not a leaf contains no words. If a leaf contradicts
  /// itself, only the words before the contradiction are read.
  func read(_ bytes: [UInt8], _ receive: (PlacedWord) -> Void) {
    var place = 0
    guard number(bytes, &place) == 0 else { return }
    var word: [UInt8] = []
    var isFirst = true
    while place < bytes.count {
      var prefix = 0
      if !isFirst {
        guard let count = number(bytes, &place), count <= word.count else { return }
        prefix = Int(count)
      }
      isFirst = false
      guard let count = number(bytes, &place), count <= bytes.count - place else { return }
      word.removeLast(word.count - prefix)
      word += bytes[place..<(place + Int(count))]
      place += Int(count)
      guard let size = number(bytes, &place), size <= bytes.count - place else { return }
      documents(bytes[place..<(place + Int(size))], of: word, receive)
      place += Int(size)
    }
  }

  private func documents(
    _ list: ArraySlice<UInt8>, of word: [UInt8], _ receive: (PlacedWord) -> Void
  ) {
    let bytes = Array(list)
    var place = 0
    var document: Int64 = 0
    var isFirst = true
    while place < bytes.count {
      guard let step = number(bytes, &place) else { return }
      let distance = Int64(bitPattern: step)
      document = isFirst ? distance : isDescending ? document &- distance : document &+ distance
      isFirst = false
      var column = 0
      var position = 0
      while let step = number(bytes, &place), step != 0 {
        if step == 1 {
          guard let next = number(bytes, &place) else { return }
          column = Int(truncatingIfNeeded: next & 0xffff)
          position = 0
          continue
        }
        guard step < 1 << 31 else { return }
        position += Int(step) - 2
        guard position < 1 << 31 else { return }
        receive(PlacedWord(document: document, column: column, position: position, word: word))
      }
    }
  }

  /// Reads a varint of at most ten bytes, and moves `place` behind the varint. Returns nil if `bytes` end within the
  /// varint.
  private func number(_ bytes: [UInt8], _ place: inout Int) -> UInt64? {
    var value: UInt64 = 0
    for shift in stride(from: 0, to: 70, by: 7) {
      guard place < bytes.count else { return nil }
      let byte = bytes[place]
      place += 1
      value |= UInt64(byte & 0x7f) << UInt64(shift)
      if byte < 0x80 { return value }
    }
    return nil
  }
}
