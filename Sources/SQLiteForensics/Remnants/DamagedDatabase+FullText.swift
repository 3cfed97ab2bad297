import SQLiteFile

extension DamagedDatabase {
  /// Limits for the collected words of documents whose row is missing. Further words are dropped.
  /// `maxWords`: the maximum number of words.
  /// `maxWordBytes`: the maximum total length of the words in bytes.
  private static let maxWords = 1_000_000
  private static let maxWordBytes = 64 << 20
  /// If a full-text table has this many rows or more, its index is not searched.
  private static let maxDocuments = 4_000_000

  /// Searches the index of a full-text table for documents that have no row in the table. Passes the words of each such
  /// document to `receive`. Returns false if `receive` returned false.
  func search(
    _ index: FullTextIndex, _ notes: inout IndexedSearchNotes, _ receive: (IndexedValues) -> Bool
  ) throws(SQLiteFileError) -> Bool {
    if let obstacle = index.obstacle {
      notes.add(obstacle)
      return true
    }
    guard let live = try liveDocuments(of: index) else {
      notes.add(
        "the full-text table \(index.name), because its row ids are not stored or are too many")
      return true
    }
    var words: [PlacedWord] = []
    var byteCount = 0
    var isFull = false
    func add(_ word: PlacedWord) {
      guard !isFull, !live.hasSorted(word.document) else { return }
      // Words share prefixes in the file, so a small, malicious index may contain a million long words.
      guard words.count < Self.maxWords, byteCount <= Self.maxWordBytes - word.word.count else {
        isFull = true
        return
      }
      byteCount += word.word.count
      words.append(word)
    }
    switch index.module {
    case .fts5: try readFTS5(index, add)
    case .fts4: try readFTS4(index, add)
    }
    if isFull {
      notes.add("words of missing rows in \(index.name) after the first \(words.count)")
    }
    // Segments may repeat words of other segments, and an older segment may have another word at the same position.
    words.sort { one, other in
      (one.document, one.column, one.position) == (other.document, other.column, other.position)
        ? one.word.lexicographicallyPrecedes(other.word)
        : (one.document, one.column, one.position)
          < (other.document, other.column, other.position)
    }
    var start = 0
    while start < words.count {
      var end = start
      while end < words.count, words[end].document == words[start].document { end += 1 }
      guard receive(values(of: words[start..<end], in: index)) else { return false }
      start = end
    }
    return true
  }

  /// Returns the row ids of the full-text table's rows, in ascending order. Returns nil if no table stores these row
  /// ids, or if the full-text table has ``maxDocuments`` rows or more.
  private func liveDocuments(
    of index: FullTextIndex
  ) throws(SQLiteFileError) -> [Int64]? {
    for (name, rowIDColumn) in index.rowTables {
      guard let place = place(ofTable: name), hasRowIDs(place) else { continue }
      let definition = tables[place].definition
      let column = rowIDColumn.flatMap { definition.place(of: $0) }
      let isRowID = column == nil || column == definition.rowIDColumn
      var ids: [Int64] = []
      var isFull = false
      try forEachRow(.readable, of: [tables[place].name]) { row in
        if isRowID {
          if let id = row.rowID { ids.append(id) }
        } else if let column, column < row.values.count, case .integer(let id) = row.values[column]
        {
          ids.append(id)
        }
        isFull = ids.count >= Self.maxDocuments
        return !isFull
      }
      guard !isFull else { return nil }
      ids.sort()
      return ids
    }
    return nil
  }

  private func readFTS5(
    _ index: FullTextIndex, _ receive: (PlacedWord) -> Void
  ) throws(SQLiteFileError) {
    guard let table = place(ofTable: index.name + "_data").map({ tables[$0] }) else { return }
    var leaves = FTS5Leaves()
    var known: Set<Int64> = []
    // `SQLiteDatabase` returns the leaves in the order of their row ids. So if a list of positions continues on the
    // next leaf, the list is read whole.
    if let plain, let own = plain.schema.table(named: table.name) {
      try plain.forEachRow(of: own) { row in
        if let id = row.rowID { known.insert(id) }
        if case .blob(let bytes)? = row.values.last { leaves.read(id: row.rowID, bytes, receive) }
        return true
      }
    }
    // Leaves that were deleted, or that `SQLiteDatabase` cannot read, are read afterwards, because their order is not
    // known.
    try forEachRow(.all, of: [table.name]) { row in
      guard case .blob(let bytes)? = row.values.last, row.partial.isEmpty else { return true }
      let isRead = row.origin.state == nil || row.origin.state == .contradicted
      let id = isRead ? row.rowID : nil
      if let id, known.contains(id) { return true }
      leaves.read(id: id, bytes, receive)
      return true
    }
  }

  private func readFTS4(
    _ index: FullTextIndex, _ receive: (PlacedWord) -> Void
  ) throws(SQLiteFileError) {
    let leaves = FTS4Leaves(isDescending: index.isDescending)
    // The blocks of prefix indexes are skipped, because their terms are not whole words.
    var blocks: [ClosedRange<Int64>] = []
    if let table = place(ofTable: index.name + "_segdir").map({ tables[$0] }) {
      try forEachRow(.all, of: [table.name]) { row in
        guard row.values.count >= 6, case .integer(let level) = row.values[0] else { return true }
        let isOfPrefixes = level >= 0 && (level / 1024) % Int64(index.indexCount) != 0
        if isOfPrefixes {
          if case .integer(let first) = row.values[2], case .integer(let last) = row.values[4],
            first > 0, first <= last
          {
            blocks.append(first...last)
          }
        } else if case .blob(let root) = row.values[5] {
          leaves.read(root, receive)
        }
        return true
      }
    }
    guard let table = place(ofTable: index.name + "_segments").map({ tables[$0] }) else { return }
    let prefixBlocks = WalkedTree.joined(blocks)
    try forEachRow(.all, of: [table.name]) { row in
      guard case .blob(let bytes)? = row.values.last, row.partial.isEmpty else { return true }
      if let id = row.rowID {
        let place = prefixBlocks.firstPlace { $0.upperBound >= id }
        if place < prefixBlocks.count, prefixBlocks[place].contains(id) { return true }
      }
      // A block whose row id is lost may belong to a prefix index, so it is skipped.
      if row.rowID == nil, index.indexCount > 1 { return true }
      leaves.read(bytes, receive)
      return true
    }
  }

  /// Joins the words of a document into one string for each column that has words. `words` must be sorted by column and
  /// position.
  private func values(of words: ArraySlice<PlacedWord>, in index: FullTextIndex) -> IndexedValues {
    var values: [(column: String, value: StoredValue)] = []
    var text: [UInt8] = []
    var last: PlacedWord?
    func end() {
      guard let last else { return }
      let name =
        last.column < index.columns.count ? index.columns[last.column] : "c\(last.column)"
      values.append((name, .text(StoredText(utf8: text))))
      text = []
    }
    for word in words {
      if let last, last.column == word.column {
        // This is the same word, from another segment.
        if last.position == word.position, last.word == word.word { continue }
        // Missing words become "…". Several words at one position are joined by "|".
        let gap = word.position - last.position
        text += (gap == 0 ? "|" : gap == 1 ? " " : " … ").utf8
      } else {
        end()
        if word.position > 0 { text += "… ".utf8 }
      }
      text += word.word
      last = word
    }
    end()
    return IndexedValues(
      table: index.name, index: index.name, rowID: words.first?.document ?? 0, values: values,
      place: .words, origin: nil)
  }
}
