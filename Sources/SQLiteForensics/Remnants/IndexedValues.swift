package import SQLiteFile

/// Values or words of a row that only an index still holds: no live or deleted row has them.
package struct IndexedValues: Sendable {
  /// What holds the values or words.
  package enum Place: String, Sendable {
    /// An entry that the index uses: the row was lost, or was changed without an update of the index.
    case entry
    /// The remains of an entry in the free space of an index page. Rarely, parts of two entries look like one entry (1
    /// of 903 in a test with random changes).
    case gap
    /// An entry on a page that the index no longer uses.
    case freePage
    /// A full-text index. It gives the words of a column in order and in the form in which the index stores them,
    /// without the text between them.
    case words
  }

  /// The name of the row's table; for words, the name of the virtual table.
  package let table: String
  /// The name of the index; for words, the name of the virtual table.
  package let index: String
  /// The row id at the end of the index entry; for words, the id of the document.
  package let rowID: Int64
  /// The values with the names of their columns, in index order. A column may occur twice.
  package let values: [(column: String, value: StoredValue)]
  package let place: Place
  /// Where the index entry is; nil for words, which are in many places.
  package let origin: Origin?

  /// The place of an index entry in a file.
  package struct Origin: Sendable {
    package let member: Finding.Member
    package let page: UInt32
    /// The offset of the entry's first byte, in bytes from the start of the file `member`.
    package let offset: Int64
  }
}

/// What a search for ``IndexedValues`` could not look at: noun phrases that follow "not searched:".
package struct IndexedSearchNotes: Sendable {
  package fileprivate(set) var texts: [String] = []

  /// The most notes that are kept; more are dropped.
  private static let most = 50

  mutating func add(_ text: String) {
    if texts.count < Self.most, !texts.contains(where: { $0.utf8.elementsEqual(text.utf8) }) {
      texts.append(text)
    }
  }
}

extension DamagedDatabase {
  /// The index of a table in ``tables``, by name and without regard to case, as in SQL; nil when there is no such
  /// table.
  func place(ofTable name: String) -> Int? {
    tables.firstIndex { SQLName.isSame($0.name, name) }
  }

  /// Hands over what only indexes and full-text indexes still hold, until `receive` returns false: values and words
  /// that no live row and no deleted row has. Ordinary tables come first, then full-text tables; within an index, row
  /// ids ascend.
  ///
  /// - Returns: what the search could not look at.
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
