package import SQLiteFile

/// What an index still says of a row that nothing else has: some of its values, or its words.
package struct IndexedValues: Sendable {
  /// What holds it.
  package enum Place: String, Sendable {
    /// An entry of an index that is in use: the row was lost, or replaced behind the index's back.
    case entry
    /// The remains of an entry in the free space of an index page. Rarely, parts of two entries look like one: 1 of 903 in
    /// random histories.
    case gap
    /// A page of an index that is in use no more.
    case freePage
    /// A full-text index: words in their order, without what stood between them, in the form in which it keeps words.
    case words
  }

  /// The table that the row was of; for words, the virtual table.
  package let table: String
  /// The index; the virtual table itself for words.
  package let index: String
  /// The row id that the entry names.
  package let rowID: Int64
  /// The values, by the names of their columns. A column may be there twice.
  package let values: [(column: String, value: StoredValue)]
  package let place: Place
  /// Where the entry is; nil for words, which are in many places.
  package let origin: Origin?

  /// A place in a file.
  package struct Origin: Sendable {
    package let member: Finding.Member
    package let page: UInt32
    /// The first byte of the entry in that file.
    package let offset: Int64
  }
}

/// What of a search for ``IndexedValues`` could not be looked at, each a sentence without a full stop.
package struct IndexedSearchNotes: Sendable {
  package fileprivate(set) var texts: [String] = []

  /// The most notes that are kept.
  private static let most = 50

  mutating func add(_ text: String) {
    if texts.count < Self.most, !texts.contains(where: { $0.utf8.elementsEqual(text.utf8) }) {
      texts.append(text)
    }
  }
}

extension DamagedDatabase {
  /// The place of a table in ``tables``; case is ignored as in SQL.
  func place(ofTable name: String) -> Int? {
    tables.firstIndex { SQLName.isSame($0.name, name) }
  }

  /// Hands over what indexes and full-text indexes hold of rows that nothing else has, neither as live nor as deleted,
  /// until `receive` returns false: tables in their order, then virtual tables; of each index by row id.
  ///
  /// - Returns: what could not be looked at.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  package func forEachIndexedValues(
    _ receive: (IndexedValues) -> Bool
  ) throws(SQLiteFileError) -> IndexedSearchNotes {
    var notes = IndexedSearchNotes()
    guard try searchIndexes(&notes, receive) else { return notes }
    for entry in schemaEntries where entry.type == "table" && entry.rootPage == 0 {
      guard let index = FullTextIndex(entry) else { continue }
      guard try search(index, &notes, receive) else { break }
    }
    return notes
  }
}
