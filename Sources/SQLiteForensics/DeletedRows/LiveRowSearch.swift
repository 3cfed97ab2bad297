import SQLiteFile
import Dispatch

/// Compares live rows with the entries of a ``CarvedIndex``, and marks the entries that equal a live row.
private struct LiveContent {
  let index: CarvedIndex
  var live: CarvedIndex.LiveEntries
  private var types = RecordTypes()

  init(_ index: CarvedIndex) {
    self.index = index
    live = CarvedIndex.LiveEntries(index)
  }

  /// Compares one live row with the entries of ``index``, and marks the entries that equal the row.
  ///
  /// `record`: the page offset of the record. `limit`: the page offset at which the part of the record on this page
  /// ends. `end`: the page offset at which the cell ends, after the number of its first overflow page. `payload`: the
  /// length of the payload in bytes, including the part on overflow pages. `table`: the index of the row's table, plus
  /// 1; 0 if the table is not known. `skipsFirst`: whether the first field is the row id, which the hash leaves out.
  @inline(__always)
  mutating func look(
    at page: RawSpan, _ record: Int, _ limit: Int, _ end: Int, _ payload: Int, _ rowID: Int64,
    of table: UInt16, skipsFirst: Bool
  ) {
    guard let header = Varint.read(page, at: record, end: limit),
      header.value > UInt64(header.length), header.value <= UInt64(limit &- record),
      let first = Varint.read(page, at: record &+ header.length, end: limit),
      index.mayHold(
        length: payload &- Int(header.value) &- RecordDecoder.length(ofType: first.value))
    else { return }
    let body = record &+ Int(header.value)
    guard types.read(page, record &+ header.length..<body),
      types.bodyLength &+ Int(header.value) == payload
    else { return }
    let hash = ContentHash(types, page, body: body, end: end, skipsFirst: skipsFirst)
    index.meet(hash.content, rowID: rowID, of: table, &live)
    guard !skipsFirst else {
      // The hash of a carved row includes the first serial type if the table of the carved row is not known, or if the
      // first field of this table is not the row id. In the live row, the first serial type is that of NULL.
      index.meet(hash.withType, rowID: rowID, of: table, &live)
      return
    }
    let rest = ContentHash(types, page, body: body, end: end, skipsFirst: true)
    index.meet(rest.content, rowID: rowID, of: table, &live)
    guard index.hasLostTypes else { return }
    index.meet(hash.withoutType, rowID: rowID, of: table, &live)
  }
}

/// Compares the live rows in a part of the file with the carved rows, because a carved row that equals a live row is
/// not a deleted row. Each thread has its own object.
private final class LiveRowSearch: @unchecked Sendable {
  private let census: PageCensus
  private let concerned: Set<Int>?
  private let shapes: [RowShape]
  private let narrowed: [UInt32: ClosedRange<Int64>]
  private var reader: PageReader
  private var leaf: SoundLeaf
  private var reading: LeafReading
  private var buffer = ContiguousArray<UInt8>()
  private(set) var content: LiveContent
  private(set) var failure: SQLiteFileError?

  /// Prepares a search with its own reader. `concerned`: the indexes of the tables whose live rows are compared; nil
  /// for all tables. Live rows whose table is not known are always compared.
  init(_ database: DamagedDatabase, _ index: CarvedIndex, _ concerned: Set<Int>?) {
    census = database.census
    shapes = database.shapes
    narrowed = database.narrowed
    reader = database.reader.another()
    reading = database.newReading()
    leaf = SoundLeaf(usableSize: database.layout.usableSize, maxPayload: database.maxPayload)
    content = LiveContent(index)
    self.concerned = concerned
  }

  /// Compares the live rows of some pages with the carved rows. The pages are divided into blocks of 256 pages, counted
  /// from 0. The block `first` and every `step`th block after it are read.
  func look(from first: Int, step: Int) {
    let length = 256
    let end = Int(census.pageCount) + 1
    do throws(SQLiteFileError) {
      for start in stride(from: first * length, to: end, by: step * length) {
        for page in start..<min(start + length, end) where page > 1 { try look(at: UInt32(page)) }
      }
    } catch {
      failure = error
    }
  }

  private func look(at page: UInt32) throws(SQLiteFileError) {
    guard census.isLiveLeaf(page) else { return }
    let own = census.owner(page)?.table
    if let concerned, let own, !concerned.contains(own) { return }
    let table = own.map { UInt16($0 + 1) } ?? 0
    let skipsFirst = own.map { shapes[$0].rowIDField == 0 } ?? false
    let rowIDs = narrowed[page]
    if rowIDs == nil, try Self.look(at: page, table, skipsFirst, &reader, &leaf, &content) {
      return
    }
    var bytes = ContiguousArray<UInt8>()
    swap(&bytes, &buffer)
    defer { swap(&bytes, &buffer) }
    let available = try reader.copy(page, into: &bytes)
    guard available > 0 else { return }
    reading.read(
      bytes.rawSpan, number: page, available: available, shape: own.map { shapes[$0] })
    for cell in reading.cells where rowIDs?.contains(cell.rowID) ?? true {
      content.look(
        at: bytes.rawSpan, cell.record, cell.record + cell.local, cell.end, cell.payload,
        cell.rowID, of: table, skipsFirst: skipsFirst)
    }
  }

  /// Compares the live rows of a leaf with the carved rows. Returns false, without comparing any rows, if the leaf is
  /// damaged.
  private static func look(
    at page: UInt32, _ table: UInt16, _ skipsFirst: Bool, _ reader: inout PageReader,
    _ leaf: inout SoundLeaf, _ content: inout LiveContent
  ) throws(SQLiteFileError) -> Bool {
    guard let bytes = try reader.page(page), leaf.read(bytes) else { return false }
    for cell in leaf.cells {
      let record = Int(cell.record)
      let end = Int(cell.end)
      let payload = Int(cell.payload)
      content.look(
        at: bytes, record, record &+ payload > end ? end &- 4 : end, end, payload, cell.rowID,
        of: table, skipsFirst: skipsFirst)
    }
    return true
  }
}

extension DamagedDatabase {
  func entriesWithoutLiveRow(_ index: CarvedIndex) throws(SQLiteFileError) -> ContiguousArray<
    CarvedIndex.Entry
  > {
    // If the table of each carved row is certain, only live rows of these tables are compared, and live rows whose
    // table is not known.
    var concerned: Set<Int>? = []
    for entry in index.entries {
      guard entry.certainTable > 0 else {
        concerned = nil
        break
      }
      concerned?.insert(Int(entry.certainTable) - 1)
    }
    let count = pageCount < ParallelRecovery.minPageCount ? 1 : 2
    let parts = (0..<count).map { _ in LiveRowSearch(self, index, concerned) }
    DispatchQueue.concurrentPerform(iterations: count) {
      parts[$0].look(from: $0, step: count)
    }
    for part in parts {
      if let failure = part.failure { throw failure }
    }
    return index.entries(without: parts.map(\.content.live))
  }
}
