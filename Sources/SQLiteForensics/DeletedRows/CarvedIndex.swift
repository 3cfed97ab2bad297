import SQLiteFile

/// A list of carved rows: rows that were found in free space or on old versions of pages. An entry has 56 bytes, which
/// suffice to compare the row with live rows and with other carved rows, and to read the row again.
struct CarvedIndex {
  struct Entry: BitwiseCopyable {
    /// The hash by which the record is compared. The hash excludes the first field if its length is doubtful or its
    /// value is the row id, and the first serial type if this type is lost.
    var content: UInt64
    /// The hash of the record's content without the first serial type; see ``ContentHash``.
    var withoutType: UInt64
    var rowID: Int64
    /// The page number or, depending on ``source``, an index into a list of page versions.
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
    /// The page offset from which on a newer cell overwrites this cell; 0 if no newer cell was found.
    var newer: UInt16
    /// The number of the first overflow page; 0 for a row without overflow pages, or if this number may have been
    /// overwritten.
    var overflow: UInt32

    var knowsRowID: Bool { flags & CarvedIndex.hasRowID != 0 }
    /// The index of the table plus 1; 0 if the row may also belong to another table.
    var certainTable: UInt16 { flags & CarvedIndex.isOfTable != 0 ? table : 0 }
    var hasFirstType: Bool { flags & CarvedIndex.lostFirst == 0 }
  }

  /// The maximum number of entries in the list.
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
  /// Whether the first serial type of any entry is lost.
  private(set) var hasLostTypes = false
  /// The ``Entry/withoutType`` hashes of rows with a first serial type that were sent in an earlier batch.
  private var sentWithoutType = SeenRows()
  /// Bitmaps that rule out most live rows without a search in ``entries``.
  /// `filter`: a bit for each value of the highest 20 bits of the content hash.
  /// `lengths`: a bit for the total length of all values except the first, modulo 65,536.
  private var filter = ContiguousArray<UInt64>(repeating: 0, count: 1 << 14)
  private var lengths = ContiguousArray<UInt64>(repeating: 0, count: 1 << 10)

  var isFull: Bool { entries.count >= Self.limit }

  /// Adds an entry. `length`: the total length, in bytes, of all values of the row except the first.
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

  /// Sorts the entries by content and row id, and drops the entries that are in `seen`. Of several entries with the
  /// same content, row id and ``Entry/certainTable``, only the one with the highest confidence is kept. An entry
  /// without a row id is dropped if an entry with a row id has the same content and table. Equal entries of different
  /// tables are compared later, in ``entries(without:)``, because a live row may equal only one of them.
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

  /// Returns the entries that equal no earlier entry. `entries` must be sorted.
  ///
  /// `isKnown`: returns whether an entry with this ``Entry/certainTable`` equals one of the earlier entries with the
  /// same content.
  private static func distinct(
    _ entries: ContiguousArray<Entry>, _ isKnown: (EqualRows, UInt16) -> Bool
  ) -> ContiguousArray<Entry> {
    var kept: ContiguousArray<Entry> = []
    // `ofContent`: the tables of the kept entries with the current content. `ofRow`: those that also have the current
    // row id.
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

  /// The ``Entry/certainTable`` values of entries with the same content.
  private struct EqualRows {
    private var tables: Set<UInt16> = []

    func contains(_ table: UInt16) -> Bool { tables.contains(table) }

    /// Whether a row of `table` may equal one of these entries. 0 stands for a row that may belong to any table.
    func include(_ table: UInt16) -> Bool {
      table == 0 ? !tables.isEmpty : tables.contains(table) || tables.contains(0)
    }

    mutating func insert(_ table: UInt16) { tables.insert(table) }
    mutating func removeAll() { tables.removeAll(keepingCapacity: true) }
  }

  @inline(__always)
  private static func bit(_ content: UInt64) -> Int { Int(content >> 44) }

  /// Whether any entry may have values of this total length, in bytes, the first value excluded. False positives are
  /// possible.
  @inline(__always)
  func mayHold(length: Int) -> Bool {
    lengths[length >> 6 & 0x3ff] & 1 << UInt64(length & 63) != 0
  }

  /// Marks in `live` each entry that equals the live row: the entry has the same content and, if the entry has a row
  /// id, the same row id. An entry whose ``Entry/certainTable`` is another table is not marked.
  ///
  /// `table`: the index of the live row's table plus 1; 0 if the table is not known.
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

  /// Returns the index of the first entry with this content and row id, or the index at which such an entry would be
  /// inserted. Entries without a row id come after those with a row id.
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

  /// A bit for each entry of a ``CarvedIndex``. The bit is set if a live row equals the entry.
  struct LiveEntries {
    fileprivate var bits: ContiguousArray<UInt64>

    init(_ index: borrowing CarvedIndex) {
      bits = ContiguousArray(repeating: 0, count: index.entries.count / 64 + 1)
    }
  }

  /// Returns the entries that equal no live row. Of equal entries, only the first is returned; entries that certainly
  /// belong to different tables are not equal. `live`: the entries that each part of the search has marked.
  func entries(without live: [LiveEntries]) -> ContiguousArray<Entry> {
    var kept: ContiguousArray<Entry> = []
    for index in entries.indices
    where !live.contains(where: { $0.bits[index >> 6] & 1 << UInt64(index & 63) != 0 }) {
      kept.append(entries[index])
    }
    kept = Self.distinct(kept) { $0.include($1) }
    guard hasLostTypes else { return kept }
    // An entry whose first type is lost is dropped if another entry has the same content and its first type.
    var whole = sentWithoutType
    for entry in kept where entry.hasFirstType {
      whole.insert(entry.withoutType, nil, of: entry.certainTable)
    }
    kept.removeAll { !$0.hasFirstType && whole.contains($0.content, nil, of: $0.certainTable) }
    return kept
  }
}

/// Hashes of the rows that were sent to the sink. They ensure that a row is not sent again with a later batch. At most
/// 500,000 different contents are stored.
struct SeenRows {
  private var withRowID: Set<UInt64> = []
  private var withoutRowID: Set<UInt64> = []
  private var contents: Set<UInt64> = []
  private static let limit = 500_000

  /// Whether an equal row was sent. `table`: the index of the row's table plus 1; 0 if the row may belong to several
  /// tables.
  func contains(_ content: UInt64, _ rowID: Int64?, of table: UInt16) -> Bool {
    if table == 0 { return contains(content, rowID) }
    return [table, 0].contains { contains(Self.hash(content, Int64($0)), rowID) }
  }

  private func contains(_ content: UInt64, _ rowID: Int64?) -> Bool {
    guard let rowID else { return contents.contains(content) }
    return withRowID.contains(Self.hash(content, rowID)) || withoutRowID.contains(content)
  }

  mutating func insert(_ content: UInt64, _ rowID: Int64?, of table: UInt16) {
    // Each content is stored twice: alone, and combined with the table.
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

/// The hashes of a record's serial types and values. If a freed cell has lost its start, the hashes of what remains
/// equal those of the complete cell.
struct ContentHash {
  /// The hash without the serial type of the first field, because a freed cell may have lost this type.
  let withoutType: UInt64
  /// The hash with the serial type of the first field. The type is included even if the value of the first field is
  /// left out.
  let withType: UInt64
  /// The hash by which the record is compared: ``withoutType`` if the first field is left out, otherwise ``withType``.
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
