import CoreDataForensics
import CoreDataStore
import ObjectModel
import RowText
import SafeFiles
package import SQLiteFile
package import SQLiteForensics
import SafeText
import StoreFiles

/// Searches the values of a store in live rows, deleted rows, older versions of rows, and Core Data's own tables with
/// the metadata. Binary values are decoded, and external files are searched, too.
///
/// For each value, only the first match is reported. Memory use does not depend on the number of rows.
package final class ValueSearch {
  /// The result of a search: how much was searched, and how much was found.
  package struct Outcome: Sendable {
    package var rowCount = 0
    package var hitCount = 0
    package var fileCount = 0
    /// Whether the search stopped at its limit. If so, there may be more hits.
    package var isCut = false
    /// The number of values and external files of which only a part was searched, and in which nothing was found. The
    /// rest of each was too large or nested too deeply.
    package var searchedInPart = 0
    package var unreadFiles: [String] = []
  }

  /// The maximum size in bytes of an external file that is decoded. Larger files are searched for text piece by piece.
  private static let maxDecodedBytes: Int64 = 4 << 20
  private static let pieceBytes = 1 << 18

  private let store: DamagedStore
  private let pattern: SearchPattern
  private let naming: RecoveredNaming
  private let columnCounts: [Int]
  /// For each table and entity number: the kind of property in each column.
  private var kinds: [RowKind: [RowPlan.Kind?]] = [:]
  /// Matches in external files, by file name. A match is reported when a row names the file, or after the last row if
  /// no row names the file.
  private var files: [ExactText: SearchPattern.BlobMatch] = [:]
  private var namedFiles = ExactTexts()
  private var outcome = Outcome()

  package init(_ store: DamagedStore, for pattern: SearchPattern) {
    self.store = store
    self.pattern = pattern
    naming = RecoveredNaming(
      tables: store.database.tables, entities: store.entities, model: store.model,
      storePath: store.database.path)
    columnCounts = store.database.tables.map {
      $0.isDescribed ? $0.definition.columns.count : -1
    }
  }

  /// Calls `receive` with each hit as soon as it is found, until `receive` returns false. Throws when the device fails.
  ///
  /// `limit`: the maximum number of hits to report; nil for all.
  package func run(
    _ selection: DamagedDatabase.Selection, limit: Int? = nil,
    _ receive: (SearchHit) -> Bool
  ) throws(SQLiteFileError) -> Outcome {
    outcome = Outcome()
    guard limit != 0 else { return outcome }
    searchFiles()
    // Reports a hit and returns whether more hits are wanted.
    func tell(_ hit: SearchHit) -> Bool {
      outcome.hitCount += 1
      outcome.isCut = limit.map { outcome.hitCount >= $0 } ?? false
      return receive(hit) && !outcome.isCut
    }
    var goesOn = true
    try store.database.forEachBufferedRow(selection, readsAhead: limit == nil) { row in
      outcome.rowCount += 1
      goesOn = search(row, tell)
      return goesOn
    }
    for (name, found) in files.sorted(by: { $0.key < $1.key })
    where goesOn && !namedFiles.contains(name.text) {
      goesOn = tell(SearchHit(inside: Self.inside(found, file: name.text), excerpt: found.excerpt))
    }
    return outcome
  }

  // MARK: - Rows

  private func search(
    _ row: borrowing RecoveredRowBuffer, _ tell: (SearchHit) -> Bool
  ) -> Bool {
    for (column, value) in row.values.enumerated() {
      var inside: String?
      let excerpt: SearchExcerpt
      switch value.kind {
      case .null: continue
      case .integer:
        guard let text = number(Double(value.bits), value.bits, row, column) else { continue }
        excerpt = SearchExcerpt(whole: text)
      case .real:
        let real = Double(bitPattern: UInt64(bitPattern: value.bits))
        guard let text = number(real, nil, row, column) else { continue }
        excerpt = SearchExcerpt(whole: text)
      case .text:
        let content = row.bytes.rawSpan.part(value.offset, value.count)
        guard let match = pattern.match(inText: content) else {
          if pattern.leavesOut(textOf: value.count) { outcome.searchedInPart += 1 }
          continue
        }
        excerpt = SearchExcerpt(match, of: content)
      case .blob:
        guard let found = blob(row.content(of: value)) else { continue }
        (inside, excerpt) = (found.inside, found.excerpt)
      }
      guard tell(hit(row, column, inside, excerpt)) else { return false }
    }
    for partial in row.partial {
      guard let found = pattern.match(inBlob: partial.bytes) else { continue }
      let place = "the first \(partial.have) bytes of \(partial.of)"
      let inside = found.inside.map { place + ", " + $0 } ?? place
      guard tell(hit(row, partial.column, inside, found.excerpt)) else { return false }
    }
    return true
  }

  /// Returns the text of a number or date that matches the pattern. Returns nil without a match, and for keys and
  /// counts that Core Data uses for itself.
  private func number(
    _ value: Double, _ integer: Int64?, _ row: borrowing RecoveredRowBuffer, _ column: Int
  ) -> String? {
    let isNumber = integer.map { pattern.matches($0) } ?? pattern.matches(value)
    let couldBeDate = pattern.couldMatch(dateAt: value)
    guard isNumber || couldBeDate else { return nil }
    let isDate: Bool
    switch kind(of: column, row) {
    case .none: isDate = false
    // Core Data's own keys and counts are not searched.
    case .some(.none), .some(.toOne): return nil
    case .some(.attribute(let attribute)): isDate = attribute.type == .date
    case .some(.declared(let isDeclaredDate)): isDate = isDeclaredDate
    }
    guard isDate else { return isNumber ? integer.map { String($0) } ?? value.description : nil }
    let date = ReferenceDate(seconds: value)
    return pattern.matches(date) ? date.iso8601 : nil
  }

  /// Returns the kind of the property that a row stores in a column. Returns `.some(nil)` for a column that holds no
  /// property, and nil for a row that is not in an entity's table.
  private func kind(
    of column: Int, _ row: borrowing RecoveredRowBuffer
  ) -> RowPlan.Kind?? {
    guard let table = row.origin.table ?? row.origin.guess, columnCounts[table] >= 0 else {
      return nil
    }
    let number = row.values.count > 1 && row.values[1].kind == .integer ? row.values[1].bits : nil
    let kind = naming.kind(of: table, number)
    if kinds[kind] == nil {
      guard let (_, fields) = naming.fields(of: table, number) else { return nil }
      var list = [RowPlan.Kind?](repeating: nil, count: columnCounts[table])
      for field in fields where field.column < list.count { list[field.column] = field.kind }
      kinds[kind] = list
    }
    guard let list = kinds[kind], column < list.count else { return .some(nil) }
    return .some(list[column])
  }

  private func blob(_ bytes: [UInt8]) -> SearchPattern.BlobMatch? {
    if let file = ExternalBlob.identifier(in: bytes) {
      guard let found = files[ExactText(file)] else { return nil }
      namedFiles.insert(file)
      return SearchPattern.BlobMatch(
        inside: Self.inside(found, file: file), excerpt: found.excerpt)
    }
    var isPartial = false
    // Core Data may store a value in an external file or in the row. In the row, a byte 1 precedes the value.
    if bytes.first == 1, let found = pattern.match(inBlob: Array(bytes.dropFirst()), &isPartial) {
      return found
    }
    if let found = pattern.match(inBlob: bytes, &isPartial) { return found }
    if isPartial { outcome.searchedInPart += 1 }
    return nil
  }

  private func hit(
    _ row: borrowing RecoveredRowBuffer, _ column: Int, _ inside: String?, _ excerpt: SearchExcerpt
  ) -> SearchHit {
    var hit = SearchHit(
      key: row.rowID, origin: row.origin, inside: inside, excerpt: excerpt)
    guard let place = row.origin.table ?? row.origin.guess else { return hit }
    let table = store.database.tables[place]
    hit.part = table.name
    if table.isDescribed, column < table.definition.columns.count {
      hit.attribute = table.definition.columns[column].name
    }
    guard columnCounts[place] >= 0, let (managed, columns) = naming.managedRow(RecoveredRow(row))
    else { return hit }
    if let entity = managed.entityName {
      hit.part = entity
      hit.isEntity = true
    }
    if hit.key == nil, managed.primaryKey != 0 { hit.key = managed.primaryKey }
    if let index = columns.firstIndex(of: column) {
      hit.attribute = managed.properties[index].name
    }
    return hit
  }

  // MARK: - External files

  /// Searches the external files beside the store and keeps the matches in ``files``. A match is reported later: when a
  /// row names the file, or after the last row.
  private func searchFiles() {
    for member in StoreSet(at: store.database.path).members
    where member.role == .support && member.kind == .file {
      outcome.fileCount += 1
      do throws(SQLiteFileError) {
        if let found = try match(in: ByteFile(member.path)) {
          files[ExactText(PathText.lastComponent(of: member.name))] = found
        }
      } catch {
        outcome.unreadFiles.append(member.name)
      }
    }
  }

  private func match(in file: ByteFile) throws(SQLiteFileError) -> SearchPattern.BlobMatch? {
    if file.size <= Self.maxDecodedBytes {
      var isPartial = false
      let found = pattern.match(inBlob: try file.bytes(at: 0, count: Int(file.size)), &isPartial)
      if isPartial { outcome.searchedInPart += 1 }
      return found
    }
    // A larger file is not decoded. Its start tells whether there is anything to decode; an expression is held against
    // the start alone, as in smaller files.
    let lead = try file.bytes(at: 0, count: BlobContent.maxBytes + 1)
    var isPartial = Inflation.form(of: lead) != nil
    var found = pattern.match(inBlob: lead, &isPartial)
    if !pattern.isExpression { found = try match(inPiecesOf: file) }
    if found == nil, isPartial { outcome.searchedInPart += 1 }
    return found
  }

  /// Searches the bytes of a file for a text.
  private func match(inPiecesOf file: ByteFile) throws(SQLiteFileError) -> SearchPattern.BlobMatch?
  {
    var offset: Int64 = 0
    while offset < file.size {
      let count = Int(min(file.size - offset, Int64(Self.pieceBytes + pattern.overlap)))
      let piece = ContiguousArray(try file.bytes(at: offset, count: count))
      if let range = pattern.match(inBytes: piece.rawSpan) {
        return SearchPattern.BlobMatch(
          inside: "byte \(offset + Int64(range.lowerBound)) of \(file.size)",
          excerpt: SearchExcerpt(range, of: piece.rawSpan))
      }
      offset += Int64(Self.pieceBytes)
    }
    return nil
  }

  private static func inside(_ found: SearchPattern.BlobMatch, file: String) -> String {
    "external file \(VisibleText.visible(file, limit: 80))" + (found.inside.map { ", " + $0 } ?? "")
  }
}
