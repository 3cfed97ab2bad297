import SQLiteFile

/// A list of carved rows: rows that were found in free space or on old versions of pages.
///
/// An entry has 56 bytes: hashes with which the row is compared with live rows and with other carved rows, and the
/// position from which the row can be read again.
struct CarvedIndex {
  struct Entry: BitwiseCopyable {
    /// The hash with which the record is compared with other records; see ``ContentHash``. A lost serial type of the
    /// first field is not part of the hash. The whole first field is left out if the length of its value is doubtful,
    /// or if it is the row id.
    var content: UInt64
    /// A hash of the record that leaves out the first serial type; see ``ContentHash/withoutType``.
    var withoutType: UInt64
    var rowID: Int64
    /// The page number. If ``source`` is a list of page versions, this is the index in that list instead.
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
    /// The page offset of the newer cell that has overwritten the rest of this cell; 0 if no newer cell was found.
    var newer: UInt16
    /// The number of the first overflow page; 0 if the row has no overflow page, or if the number may have been
    /// overwritten.
    var overflow: UInt32

    var knowsRowID: Bool { flags & CarvedIndex.hasRowID != 0 }
    /// The index of the row's table, plus 1; 0 if the row may belong to several tables.
    var certainTable: UInt16 { flags & CarvedIndex.isOfTable != 0 ? table : 0 }
    var hasFirstType: Bool { flags & CarvedIndex.lostFirst == 0 }
  }

  /// The maximum number of carved rows in the list.
  static let limit = 300_000

  static let hasRowID: UInt8 = 1
  static let isStartLost: UInt8 = 2
  static let lostFirst: UInt8 = 4
  static let isAmbiguous: UInt8 = 8
  /// A bit in ``Entry/flags``. It is set if the row can belong to no other table than ``Entry/table``.
  static let isOfTable: UInt8 = 16
  static let isFirstDoubtful: UInt8 = 32
  static let isEndDoubtful: UInt8 = 64
  static let isPointed: UInt8 = 128

  private(set) var entries: ContiguousArray<Entry> = []
  /// Whether the record header of any entry has lost its first serial type.
  private(set) var hasLostTypes = false
  /// The ``Entry/withoutType`` hashes of the rows that were passed on in earlier batches. Rows that have lost their
  /// first serial type are not included.
  private var sentWithoutType = SeenRows()
  /// Bitmaps for a quick test: they show for most live rows that no entry in ``entries`` is equal, so that no search is
  /// needed.
  ///
  /// `filter`: the bit `n` is set if the 20 highest bits of an entry's ``Entry/content`` are `n`.
  /// `lengths`: the bit `n` is set if an entry was added whose `length`, modulo 65,536, is `n`; see
  /// ``append(_:length:)``.
  private var filter = ContiguousArray<UInt64>(repeating: 0, count: 1 << 14)
  private var lengths = ContiguousArray<UInt64>(repeating: 0, count: 1 << 10)

  var isFull: Bool { entries.count >= Self.limit }

  /// Adds a carved row. `length` is the total length, in bytes, of all values of the row except the first.
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

  /// Sorts the entries, and removes duplicates and the entries of rows that were already sent (`seen`).
  ///
  /// Of several entries with the same content, row id and ``Entry/certainTable``, only the one with the highest
  /// confidence is kept. An entry without a row id is a duplicate of any entry with the same content and
  /// ``Entry/certainTable``. Entries with the same content and different tables are kept, because a live row may equal
  /// only one of them. ``entries(without:)`` removes duplicates among these.
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

  /// Returns the entries without those that equal an earlier entry. `entries` must be sorted as in ``settle(_:)``.
  ///
  /// `isKnown`: returns whether an entry equals an earlier entry. Its first argument has the tables of the earlier
  /// entries that have the same content as the entry and, if the entry has a row id, the same row id. Its second
  /// argument is the ``Entry/certainTable`` of the entry.
  private static func distinct(
    _ entries: ContiguousArray<Entry>, _ isKnown: (EqualRows, UInt16) -> Bool
  ) -> ContiguousArray<Entry> {
    var kept: ContiguousArray<Entry> = []
    // `ofContent`: the tables of the kept entries that have the content of the current entry. `ofRow`: the tables of
    // the kept entries that have its content and its row id.
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

  /// The ``Entry/certainTable`` values of all entries that have the same content.
  private struct EqualRows {
    private var tables: Set<UInt16> = []

    func contains(_ table: UInt16) -> Bool { tables.contains(table) }

    /// Whether the group has an entry that belongs to the table `table` or to an unknown table. The value 0 stands for
    /// an unknown table, to which every entry may belong.
    func include(_ table: UInt16) -> Bool {
      table == 0 ? !tables.isEmpty : tables.contains(table) || tables.contains(0)
    }

    mutating func insert(_ table: UInt16) { tables.insert(table) }
    mutating func removeAll() { tables.removeAll(keepingCapacity: true) }
  }

  @inline(__always)
  private static func bit(_ content: UInt64) -> Int { Int(content >> 44) }

  /// Whether an entry may exist whose values, without the first one, have a total length of `length` bytes. May also be
  /// true when no such entry exists.
  @inline(__always)
  func mayHold(length: Int) -> Bool {
    lengths[length >> 6 & 0x3ff] & 1 << UInt64(length & 63) != 0
  }

  /// Marks in `live` the carved rows that are equal to a live row with the content hash `content` and the row id
  /// `rowID`. If the row id of a carved row is lost, only the content hash is compared. A carved row that certainly
  /// belongs to another table is not marked.
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

  /// Returns the index of the first entry with this content and row id. If there is no such entry, returns the index at
  /// which it would be inserted. If `rowID` is nil, the search is for an entry without a row id. Such entries come
  /// after the entries with the same content and a row id.
  private func start(of content: UInt64, _ rowID: Int64?) -> Int {
    entries.firstPlace { entry in
      guard entry.content == content else { return entry.content > content }
      return !entry.knowsRowID || rowID.map { entry.rowID >= $0 } ?? false
    }
  }

  /// A bit for each entry of a ``CarvedIndex``. The bit is set if a live row equals the entry.
  struct LiveEntries {
    fileprivate var bits: ContiguousArray<UInt64>

    init(_ index: borrowing CarvedIndex) {
      bits = ContiguousArray(repeating: 0, count: index.entries.count / 64 + 1)
    }
  }

  /// Returns the carved rows that equal no live row. Of several equal entries, only the first one is returned. Two
  /// entries do not count as equal if they certainly belong to different tables (``Entry/certainTable``).
  ///
  /// `live`: for each thread of the search, the entries that the thread has found to equal a live row.
  func entries(without live: [LiveEntries]) -> ContiguousArray<Entry> {
    var kept: ContiguousArray<Entry> = []
    for index in entries.indices
    where !live.contains(where: { $0.bits[index >> 6] & 1 << UInt64(index & 63) != 0 }) {
      kept.append(entries[index])
    }
    kept = Self.distinct(kept) { $0.include($1) }
    guard hasLostTypes else { return kept }
    // An entry that has lost its first serial type is removed if another entry has the same content and has not lost
    // its first serial type.
    var whole = sentWithoutType
    for entry in kept where entry.hasFirstType {
      whole.insert(entry.withoutType, nil, of: entry.certainTable)
    }
    kept.removeAll { !$0.hasFirstType && whole.contains($0.content, nil, of: $0.certainTable) }
    return kept
  }
}

/// Hashes of the rows that were sent to the sink. If an equal row is found later, it is not sent again. Hashes of at
/// most about 500,000 different rows are stored.
struct SeenRows {
  private var withRowID: Set<UInt64> = []
  private var withoutRowID: Set<UInt64> = []
  private var contents: Set<UInt64> = []
  private static let limit = 500_000

  /// Whether an equal row was sent to the sink before.
  ///
  /// `content`: the hash of the row's values.
  /// `rowID`: the row id; nil if it is lost.
  /// `table`: the index of the row's table, plus 1; 0 if the row may belong to several tables.
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

/// Hashes of the serial types and values of a record, by which equal records are found. ``withoutType`` leaves out all
/// bytes that SQLite overwrites when it frees a cell. So a complete cell and the same cell after it was freed have the
/// same ``withoutType``.
struct ContentHash {
  /// The hash without the serial type of the first field. A freed cell may have lost this type.
  let withoutType: UInt64
  /// The hash of the record that covers the serial type of the first field. It covers this type even if it does not
  /// cover the value of the first field.
  let withType: UInt64
  /// The hash that is compared with the hashes of other records. It is ``withoutType`` if the initializer leaves out
  /// the value of the first field, otherwise ``withType``.
  let content: UInt64

  /// Hashes a record.
  ///
  /// `body`: the page offset at which the values begin.
  /// `end`: the page offset at which the cell ends. The number of the first overflow page is part of the cell.
  /// `skipsFirst`: whether to leave out the value of the first field.
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
