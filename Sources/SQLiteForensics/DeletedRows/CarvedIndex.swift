import SQLiteFile

/// A list of carved rows, 48 bytes each: enough to compare a row with live rows and earlier finds, and to read it
/// again.
struct CarvedIndex {
  struct Entry: BitwiseCopyable {
    /// The hash of the record's content, without the first field if its serial type is doubtful or its value is the row
    /// id.
    var content: UInt64
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
    /// The first page of the overflow chain; 0 if there is none, or if the number may have been overwritten.
    var overflow: UInt32
  }

  /// The maximum number of entries that are kept at the same time.
  static let limit = 300_000

  static let hasRowID: UInt8 = 1
  static let isStartLost: UInt8 = 2
  static let lostFirst: UInt8 = 4
  static let isAmbiguous: UInt8 = 8
  static let isFirstDoubtful: UInt8 = 32
  static let isEndDoubtful: UInt8 = 64
  static let isPointed: UInt8 = 128

  private(set) var entries: ContiguousArray<Entry> = []
  /// Bitmaps that rule out most live rows without a search in ``entries``.
  /// `filter`: by the highest bits of the content hash.
  /// `lengths`: by the total length of all values except the first.
  private var filter = ContiguousArray<UInt64>(repeating: 0, count: 1 << 14)
  private var lengths = ContiguousArray<UInt64>(repeating: 0, count: 1 << 10)

  var isFull: Bool { entries.count >= Self.limit }

  /// Adds an entry. `length`: the total length of all values of its row except the first, in bytes.
  mutating func append(_ entry: Entry, length: Int) {
    entries.append(entry)
    lengths[length >> 6 & 0x3ff] |= 1 << UInt64(length & 63)
  }

  mutating func removeAll() {
    entries.removeAll(keepingCapacity: true)
    for index in filter.indices { filter[index] = 0 }
    for index in lengths.indices { lengths[index] = 0 }
  }

  /// Sorts the entries by content and row id, and drops those that are in `seen`. Of several equal entries, only the
  /// one with the highest confidence is kept. An entry without a row id is dropped if one with a row id has the same
  /// content.
  mutating func settle(_ seen: inout SeenRows) {
    entries.sort { one, two in
      if one.content != two.content { return one.content < two.content }
      let isKnown = one.flags & Self.hasRowID != 0
      if isKnown != (two.flags & Self.hasRowID != 0) { return isKnown }
      if isKnown, one.rowID != two.rowID { return one.rowID < two.rowID }
      return one.confidence > two.confidence
    }
    var kept: ContiguousArray<Entry> = []
    for entry in entries {
      if let last = kept.last, last.content == entry.content, Self.same(last, entry) { continue }
      kept.append(entry)
    }
    kept.removeAll { seen.contains($0.content, $0.flags & Self.hasRowID != 0 ? $0.rowID : nil) }
    entries = kept
    for entry in entries {
      let bit = Self.bit(entry.content)
      filter[bit >> 6] |= 1 << UInt64(bit & 63)
    }
  }

  private static func same(_ one: Entry, _ two: Entry) -> Bool {
    guard one.flags & two.flags & hasRowID != 0 else { return true }
    return one.rowID == two.rowID
  }

  @inline(__always)
  private static func bit(_ content: UInt64) -> Int { Int(content >> 44) }

  /// Whether the values of any entry may have this total length, in bytes, without the first value. Also true for some
  /// lengths that no entry has.
  @inline(__always)
  func mayHold(length: Int) -> Bool {
    lengths[length >> 6 & 0x3ff] & 1 << UInt64(length & 63) != 0
  }

  /// Marks in `live` each entry with the same content and, if its row id is known, the same row id.
  @inline(__always)
  func meet(_ content: UInt64, rowID: Int64, _ live: inout LiveEntries) {
    let bit = Self.bit(content)
    guard filter[bit >> 6] & (1 << UInt64(bit & 63)) != 0 else { return }
    mark(content, rowID, &live)
  }

  @inline(never)
  private func mark(_ content: UInt64, _ rowID: Int64, _ live: inout LiveEntries) {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      let entry = entries[middle]
      let isBefore =
        entry.content == content
        ? entry.flags & Self.hasRowID != 0 && entry.rowID < rowID : entry.content < content
      if isBefore { low = middle + 1 } else { high = middle }
    }
    guard low < entries.count, entries[low].content == content,
      entries[low].flags & Self.hasRowID == 0 || entries[low].rowID == rowID
    else { return }
    live.bits[low >> 6] |= 1 << UInt64(low & 63)
  }

  /// A bit for each entry of an index, set if a live row equals it.
  struct LiveEntries {
    fileprivate var bits: ContiguousArray<UInt64>

    init(_ index: borrowing CarvedIndex) {
      bits = ContiguousArray(repeating: 0, count: index.entries.count / 64 + 1)
    }
  }

  /// The entries that equal no live row. `live`: the marked entries, one value for each part of the search.
  func entries(without live: [LiveEntries]) -> ContiguousArray<Entry> {
    var kept: ContiguousArray<Entry> = []
    for index in entries.indices
    where !live.contains(where: { $0.bits[index >> 6] & 1 << UInt64(index & 63) != 0 }) {
      kept.append(entries[index])
    }
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

  func contains(_ content: UInt64, _ rowID: Int64?) -> Bool {
    guard let rowID else { return contents.contains(content) }
    return withRowID.contains(Self.hash(content, rowID)) || withoutRowID.contains(content)
  }

  mutating func insert(_ content: UInt64, _ rowID: Int64?) {
    guard contents.count < Self.limit else { return }
    contents.insert(content)
    if let rowID {
      withRowID.insert(Self.hash(content, rowID))
    } else {
      withoutRowID.insert(content)
    }
  }

  private static func hash(_ content: UInt64, _ rowID: Int64) -> UInt64 {
    (content ^ UInt64(bitPattern: rowID)) &* 0x9e37_79b9_7f4a_7c15
  }
}

/// Hashes the content of a record. The remains of a freed cell have the hash of the complete cell.
enum ContentHash {
  /// The hash of a record's serial types and values.
  ///
  /// `skipsFirst`: whether to leave out the first field, because a freed cell may have lost its type.
  /// `body`: the offset at which the values begin.
  /// `end`: the offset at which the cell ends on the page, after the number of the first overflow page.
  static func of(
    _ types: borrowing RecordTypes, _ page: RawSpan, body: Int, end: Int, skipsFirst: Bool
  ) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    var offset = body
    for (index, type) in types.types.enumerated() {
      if index == 0, skipsFirst {
        offset += RecordDecoder.length(ofType: type)
        continue
      }
      hash = mix(hash, type)
    }
    while offset + 8 <= end {
      hash = mix(hash, page.word(at: offset))
      offset += 8
    }
    var last: UInt64 = 0
    while offset < end {
      last = last << 8 | UInt64(page.byte(at: offset))
      offset += 1
    }
    return mix(mix(hash, last), 1)
  }

  @inline(__always)
  private static func mix(_ hash: UInt64, _ value: UInt64) -> UInt64 {
    let product = (hash ^ value).multipliedFullWidth(by: 0x9e37_79b9_7f4a_7c15)
    return product.high ^ product.low
  }
}
