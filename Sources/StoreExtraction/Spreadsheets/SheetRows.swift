import CoreDataStore
import RowText
import SQLiteFile

/// Writes the rows of a table into sheets, directly from their records.
final class SheetRows: RecordReceiver {
  struct Targets {
    /// The sheet of each entity, by entity number. Empty for a table that is written as it is stored.
    var entities: [Int64: Sheet] = [:]
    /// The sheet for rows of unknown entities, or for all rows of a table that is written as it is stored. Nil if these
    /// rows are not wanted.
    var others: Sheet?
  }

  /// The maximum number of sheets that are open at a time. If the rows of a table need more sheets, the table is read
  /// several times.
  static let maxOpenSheets = 32

  /// The plan by which columns become properties; nil for a table that is written as it is stored.
  private let plan: RowPlan?
  private let targets: Targets
  private let renderings: [Int64: EntityRendering]
  private let limit: Int?
  private let noteExternal: (_ file: String, _ entity: String) -> Void
  private var sink: SheetRowSink
  private var openSheets: [Sheet] = []
  /// The sheets that are complete: all their rows were written.
  private var done: Set<ObjectIdentifier> = []
  private var isFirstPass = true
  /// Whether this pass has left rows out because the maximum number of sheets was open. If so, another pass over the
  /// table is needed.
  private var hasMore = false
  /// The number of rows of unknown entities, by entity number; nil stands for rows without an entity number.
  private var unknownNumbers: [Int64?: Int] = [:]
  var invalidTextCount: Int { sink.invalidTextCount }

  /// Creates the writer for the rows of one table. `plan` says how columns become properties; nil to write the table as
  /// it is stored. `limit` is the maximum number of rows for each entity or table; nil for all. `noteExternal` gets the
  /// name of each external file that a row names, and the row's entity or table.
  init(
    _ plan: RowPlan?, _ renderings: [Int64: EntityRendering], to targets: Targets, limit: Int?,
    _ sink: consuming SheetRowSink,
    noteExternal: @escaping (_ file: String, _ entity: String) -> Void
  ) {
    self.plan = plan
    self.renderings = renderings
    self.targets = targets
    self.limit = limit
    self.sink = sink
    self.noteExternal = noteExternal
  }

  /// Reads the table in as many passes as needed, writes its rows, and ends the sheets. Adds problems with rows to the
  /// store's findings. Throws `SQLiteFileError`, or an error of the output.
  func read(_ table: Table, of store: CoreDataStore, _ progress: RowProgress?) throws {
    repeat {
      hasMore = false
      let watched = isFirstPass ? progress?.watching(self) ?? self : self
      let result = Result { try store.database.read(table, by: watched) }
      if isFirstPass, plan != nil { store.note(unknownNumbers, in: table) }
      try result.get()
      sink.finish()
      if let failure = sink.failure { throw failure }
      for sheet in openSheets {
        try sheet.end()
        done.insert(ObjectIdentifier(sheet))
      }
      openSheets = []
      isFirstPass = false
    } while hasMore
  }

  // MARK: - Receiving

  var wantsMore: Bool { sink.wantsMore && !hasAll }

  /// Whether the maximum number of rows was written, so that no further row is wanted. Always false for a table with
  /// rows of entities.
  private var hasAll: Bool {
    guard plan == nil, let limit, let others = targets.others else { return false }
    return others.rowCount >= limit
  }

  func take(
    _ record: RawSpan, rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder
  ) -> RecordDecoder.Defect? {
    guard let plan else {
      guard let sheet = targets.others, wants(sheet) else { return nil }
      sink.turn(to: sheet)
      return decoder.decode(record, rowID: rowID, layout: layout, into: &sink)
    }
    if let defect = decoder.open(record) { return defect }
    let number = plan.entityNumber(of: record, rowID: rowID, layout, decoder)
    let rendering = number.flatMap { renderings[$0] }
    if rendering == nil, isFirstPass { unknownNumbers[number, default: 0] += 1 }
    let sheet = rendering == nil ? targets.others : number.flatMap { targets.entities[$0] }
    guard let sheet, let own = sheet.plan.layout, wants(sheet) else {
      // The record is decoded even if its row is not wanted, because the decoder counts the defects that it finds.
      var nothing = NoSink()
      if let rendering {
        decoder.emit(record, rowID: rowID, layout: rendering.layout, into: &nothing)
      } else {
        decoder.emit(record, rowID: rowID, layout: layout, into: &nothing)
      }
      return nil
    }
    sink.turn(to: sheet)
    sink.begin(entityNumber: number)
    decoder.emit(record, rowID: rowID, layout: own, into: &sink)
    guard !sink.externals.isEmpty else { return nil }
    for file in sink.externals { noteExternal(file, rendering?.name ?? plan.table.name) }
    sink.externals.removeAll()
    return nil
  }

  /// Whether the current pass over the table writes rows to this sheet. One pass writes only a limited number of
  /// sheets.
  private func wants(_ sheet: Sheet) -> Bool {
    if let limit, sheet.rowCount >= limit { return false }
    if sheet.isOpen { return true }
    guard !done.contains(ObjectIdentifier(sheet)) else { return false }
    guard openSheets.count < Self.maxOpenSheets else {
      hasMore = true
      return false
    }
    openSheets.append(sheet)
    return true
  }
}
