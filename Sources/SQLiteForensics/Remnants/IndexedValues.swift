package import SQLiteFile

/// Values or words that are in an index, but in no live row and in no deleted row.
package struct IndexedValues: Sendable {
  package enum Place: String, Sendable {
    /// An entry that the index still uses, although no live row has its values. Either the row was lost, or the row was
    /// changed and its entry was not.
    case entry
    /// The remains of an entry in the free space of an index page. In rare cases, these are parts of two entries.
    case gap
    /// An entry on a page that the index no longer uses.
    case freePage
    /// The words of a document, read from a full-text index. The index does not store the characters between the words.
    case words
  }

  /// The name of the indexed table or, for words, of the virtual table.
  package let table: String
  /// The name of the index; for words, the name of the virtual table.
  package let index: String
  /// The row id of the row or, for words of a full-text index, the row id of the document.
  package let rowID: Int64
  /// The values with their column names, in the order of the index. A column may occur more than once.
  package let values: [(column: String, value: StoredValue)]
  package let place: Place
  /// The location of the index entry; nil for words, because the index stores the words of a document at many places.
  package let origin: Origin?

  package struct Origin: Sendable {
    package let member: Finding.Member
    package let page: UInt32
    /// The offset in the file `member` of the first byte of the index entry.
    package let offset: Int64
  }
}

/// The parts that a search for ``IndexedValues`` could not read, as noun phrases to be printed after "not searched:".
package struct IndexedSearchNotes: Sendable {
  package fileprivate(set) var texts: [String] = []

  /// The maximum number of notes about what was not searched. Further notes are dropped.
  private static let most = 50

  mutating func add(_ text: String) {
    if texts.count < Self.most, !texts.contains(where: { $0.utf8.elementsEqual(text.utf8) }) {
      texts.append(text)
    }
  }
}

extension DamagedDatabase {
  /// Returns the index, in ``tables``, of the table with this name; nil if no table has this name. Case is ignored, as
  /// in SQL.
  func place(ofTable name: String) -> Int? {
    tables.firstIndex { SQLName.isSame($0.name, name) }
  }

  /// Calls `receive` with the values and words that are in an index, but in no live row and in no deleted row, until
  /// `receive` returns false. The indexes of ordinary tables come first, then the full-text tables. The row ids of each
  /// index ascend, unless the indexes of its table have 400,000 entries or more together.
  ///
  /// - Returns: the parts that the search could not read.
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
