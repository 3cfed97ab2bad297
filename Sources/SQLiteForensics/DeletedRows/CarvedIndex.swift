import SQLiteFile

/// A list of carved rows, 56 bytes each: enough to compare a row with live rows and earlier finds, and to read it
/// again.
struct CarvedIndex {
  struct Entry: BitwiseCopyable {
    /// The hash of the record's content, without the first field if its length is doubtful or its value is the row id,
    /// and without the first serial type if that is lost.
    var content: UInt64
    /// The hash of the record's content without the first serial type; see ``ContentHash``.
    var withoutType: UInt64
    var rowID: Int64
    /// The page number or, as ``source`` tells, an index into the list of page versions.
    var page: UInt32
    var start: UInt16
    var record: UInt16
    var length: UInt16
    var table: UInt16
    var payload: UInt32
    var firstType: UInt16
    var confidence: UInt8
    var flags: UInt8
    var headerLength: UInt8
    var source: UInt8
    var place: UInt8
    /// The page offset at which a newer cell overwrites this cell; 0 if none does.
    var newer: UInt16
    /// The first page of the overflow chain; 0 for a row without overflow pages, or if the number may be overwritten.
    var overflow: UInt32

    var knowsRowID: Bool { flags & CarvedIndex.hasRowID != 0 }
    /// The table, counted from 1, if the row can belong to no other; 0 if it can.
    var certainTable: UInt16 { flags & CarvedIndex.isOfTable != 0 ? table : 0 }
    var hasFirstType: Bool { flags & CarvedIndex.lostFirst == 0 }
  }

  /// The maximum number of entries that are kept at the same time.
  static let limit = 300_000

  static let hasRowID: UInt8 = 1
  static let isStartLost: UInt8 = 2
  static let lostFirst: UInt8 = 4
  static let isAmbiguous: UInt8 = 8
  /// The row can belong to no other table.
  static let isOfTable: UInt8 = 16
  static let isFirstDoubtful: UInt8 = 32
  static let isEndDoubtful: UInt8 = 64
  static let isPointed: UInt8 = 128

  private(set) var entries: ContiguousArray<Entry> = []
  /// Whether any entry has lost its first serial type.
  private(set) var hasLostTypes = false
  /// The contents without the first serial type of rows that have this type and were sent before.
  private var sentWithoutType = SeenRows()
  /// Bitmaps that rule out most live rows without a search in ``entries``.
  /// `filter`: by the highest bits of the content hash.
  /// `lengths`: by the total length of all values except the first.
  private var filter = ContiguousArray<UInt64>(repeating: 0, count: 1 << 14)
  private var lengths = ContiguousArray<UInt64>(repeating: 0, count: 1 << 10)

  var isFull: Bool { entries.count >= Self.limit }

  /// Adds an entry. `length`: the total length of all values of its row except the first, in bytes.
  mutating func append(_ entry: Entry, length: Int) {
    entries.append(entry)
    if entry.flags & Self.lostFirst != 0 { hasLostTypes = true }
    lengths[length >> 6 & 0x3ff] |= 1 << UInt64(length & 63)
  }

  mutating func removeAll() {
    entries.removeAll(keepingCapacity: true)
    hasLostTypes = false
    sentWithoutType = SeenRows()
    for index in filter.indices { filter[index] = 0 }
    for index in lengths.indices { lengths[index] = 0 }
  }

  /// Sorts the entries by content and row id, and drops those that are in `seen`. Of several equal entries that belong
  /// to the same table, or that can all belong to several, only the one with the highest confidence is kept. An entry
  /// without a row id is dropped if one with a row id has the same content. Entries of which only one can belong to
  /// several tables are compared in ``entries(without:)``, because a live row may equal only one of them.
  mutating func settle(_ seen: inout SeenRows) {
    entries.sort { one, two in
      if one.content != two.content { return one.content < two.content }
      if one.knowsRowID != two.knowsRowID { return one.knowsRowID }
      if one.knowsRowID, one.rowID != two.rowID { return one.rowID < two.rowID }
      return one.confidence > two.confidence
    }
    entries = Self.distinct(entries) { $0.contains($1) }
    var kept: ContiguousArray<Entry> = []
    for entry in entries {
      let rowID = entry.knowsRowID ? entry.rowID : nil
      if !seen.contains(entry.content, rowID, of: entry.certainTable) {
        kept.append(entry)
      } else if hasLostTypes, entry.hasFirstType {
        sentWithoutType.insert(entry.withoutType, nil, of: entry.certainTable)
      }
    }
    entries = kept
    for entry in entries {
      let bit = Self.bit(entry.content)
      filter[bit >> 6] |= 1 << UInt64(bit & 63)
    }
  }

  /// Those of some sorted entries that equal no earlier one.
  ///
  /// `isKnown`: whether an entry's table, counted from 1 or 0, makes the entry equal to one of these rows.
  private static func distinct(
    _ entries: ContiguousArray<Entry>, _ isKnown: (EqualRows, UInt16) -> Bool
  ) -> ContiguousArray<Entry> {
    var kept: ContiguousArray<Entry> = []
    // The tables of the kept entries with the current content, and of those with the current row id too.
    var ofContent = EqualRows()
    var ofRow = EqualRows()
    for entry in entries {
      let isNewContent = kept.last?.content != entry.content
      if isNewContent { ofContent.removeAll() }
      if isNewContent || kept.last?.rowID != entry.rowID { ofRow.removeAll() }
      let table = entry.certainTable
      if isKnown(entry.knowsRowID ? ofRow : ofContent, table) { continue }
      ofContent.insert(table)
      ofRow.insert(table)
      kept.append(entry)
    }
    return kept
  }

  /// The tables of equal entries, counted from 1; 0 for an entry that can belong to several tables.
  private struct EqualRows {
    private var tables: Set<UInt16> = []

    func contains(_ table: UInt16) -> Bool { tables.contains(table) }

    /// Whether a row of `table` may be one of these rows.
    func include(_ table: UInt16) -> Bool {
      table == 0 ? !tables.isEmpty : tables.contains(table) || tables.contains(0)
    }

    mutating func insert(_ table: UInt16) { tables.insert(table) }
    mutating func removeAll() { tables.removeAll(keepingCapacity: true) }
  }

  @inline(__always)
  private static func bit(_ content: UInt64) -> Int { Int(content >> 44) }

  /// Whether the values of any entry may have this total length, in bytes, without the first value. Also true for some
  /// lengths that no entry has.
  @inline(__always)
  func mayHold(length: Int) -> Bool {
    lengths[length >> 6 & 0x3ff] & 1 << UInt64(length & 63) != 0
  }

  /// Marks in `live` each entry with the same content and, if its row id is known, the same row id. An entry that
  /// certainly belongs to another table is not marked.
  ///
  /// `table`: the table of the live row, counted from 1; 0 if it is not known.
  @inline(__always)
  func meet(_ content: UInt64, rowID: Int64, of table: UInt16, _ live: inout LiveEntries) {
    let bit = Self.bit(content)
    guard filter[bit >> 6] & (1 << UInt64(bit & 63)) != 0 else { return }
    mark(content, rowID, table, &live)
  }

  @inline(never)
  private func mark(
    _ content: UInt64, _ rowID: Int64, _ table: UInt16, _ live: inout LiveEntries
  ) {
    for wanted in [rowID, nil] {
      var index = start(of: content, wanted)
      while index < entries.count, entries[index].content == content,
        !entries[index].knowsRowID || entries[index].rowID == rowID
      {
        let own = entries[index].certainTable
        if own == 0 || table == 0 || own == table {
          live.bits[index >> 6] |= 1 << UInt64(index & 63)
        }
        index += 1
      }
    }
  }

  /// Where entries with this content and row id begin, or would begin. Entries without a row id come after those with
  /// one.
  private func start(of content: UInt64, _ rowID: Int64?) -> Int {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      let entry = entries[middle]
      let isBefore =
        entry.content == content
        ? entry.knowsRowID && rowID.map { entry.rowID < $0 } ?? true : entry.content < content
      if isBefore { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// A bit for each entry of an index, set if a live row equals it.
  struct LiveEntries {
    fileprivate var bits: ContiguousArray<UInt64>

    init(_ index: borrowing CarvedIndex) {
      bits = ContiguousArray(repeating: 0, count: index.entries.count / 64 + 1)
    }
  }

  /// The entries that equal no live row, each row once. Entries that certainly belong to different tables are not
  /// equal. `live`: the marked entries, one value for each part of the search.
  func entries(without live: [LiveEntries]) -> ContiguousArray<Entry> {
    var kept: ContiguousArray<Entry> = []
    for index in entries.indices
    where !live.contains(where: { $0.bits[index >> 6] & 1 << UInt64(index & 63) != 0 }) {
      kept.append(entries[index])
    }
    kept = Self.distinct(kept) { $0.include($1) }
    guard hasLostTypes else { return kept }
    // Remains of a row that has lost its first type are dropped if the same row is there with this type.
    var whole = sentWithoutType
    for entry in kept where entry.hasFirstType {
      whole.insert(entry.withoutType, nil, of: entry.certainTable)
    }
    kept.removeAll { !$0.hasFirstType && whole.contains($0.content, nil, of: $0.certainTable) }
    return kept
  }
}

/// Hashes of the rows that were sent to the sink, so that none is sent twice if they do not fit into one batch. At most
/// 500,000 different contents are stored.
struct SeenRows {
  private var withRowID: Set<UInt64> = []
  private var withoutRowID: Set<UInt64> = []
  private var contents: Set<UInt64> = []
  private static let limit = 500_000

  /// Whether an equal row was sent. `table`: the row's table, counted from 1; 0 if the row can belong to several tables.
  func contains(_ content: UInt64, _ rowID: Int64?, of table: UInt16) -> Bool {
    if table == 0 { return contains(content, rowID) }
    return [table, 0].contains { contains(Self.hash(content, Int64($0)), rowID) }
  }

  private func contains(_ content: UInt64, _ rowID: Int64?) -> Bool {
    guard let rowID else { return contents.contains(content) }
    return withRowID.contains(Self.hash(content, rowID)) || withoutRowID.contains(content)
  }

  mutating func insert(_ content: UInt64, _ rowID: Int64?, of table: UInt16) {
    // A content is stored by itself and together with the table.
    guard contents.count < 2 * Self.limit else { return }
    insert(content, rowID)
    insert(Self.hash(content, Int64(table)), rowID)
  }

  private mutating func insert(_ content: UInt64, _ rowID: Int64?) {
    contents.insert(content)
    if let rowID {
      withRowID.insert(Self.hash(content, rowID))
    } else {
      withoutRowID.insert(content)
    }
  }

  private static func hash(_ content: UInt64, _ number: Int64) -> UInt64 {
    (content ^ UInt64(bitPattern: number)) &* 0x9e37_79b9_7f4a_7c15
  }
}

/// The hashes of a record's serial types and values. The remains of a freed cell have the hashes of the complete cell.
struct ContentHash {
  /// The hash of everything but the type of the first field, which a freed cell may have lost.
  let withoutType: UInt64
  /// The hash of everything. If the first field is left out, its type still counts.
  let withType: UInt64
  /// The hash by which the record is compared: ``withoutType`` if the first field is left out, else ``withType``.
  let content: UInt64

  /// Hashes a record.
  ///
  /// `skipsFirst`: whether to leave out the first field.
  /// `body`: the offset at which the values begin.
  /// `end`: the offset at which the cell ends on the page, after the number of the first overflow page.
  init(
    _ types: borrowing RecordTypes, _ page: RawSpan, body: Int, end: Int, skipsFirst: Bool
  ) {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    var offset = body
    for (index, type) in types.types.enumerated() {
      if index > 0 {
        hash = Self.mix(hash, type)
      } else if skipsFirst {
        offset += RecordDecoder.length(ofType: type)
      }
    }
    while offset + 8 <= end {
      hash = Self.mix(hash, page.word(at: offset))
      offset += 8
    }
    var last: UInt64 = 0
    while offset < end {
      last = last << 8 | UInt64(page.byte(at: offset))
      offset += 1
    }
    hash = Self.mix(Self.mix(hash, last), 1)
    withoutType = hash
    withType = types.types.first.map { Self.mix(hash, $0) } ?? hash
    content = skipsFirst ? withoutType : withType
  }

  @inline(__always)
  private static func mix(_ hash: UInt64, _ value: UInt64) -> UInt64 {
    let product = (hash ^ value).multipliedFullWidth(by: 0x9e37_79b9_7f4a_7c15)
    return product.high ^ product.low
  }
}
