package import SQLiteFile

/// Values or words that only an index contains: no live row and no deleted row contains them.
package struct IndexedValues: Sendable {
  /// The kind of place in which the values or words were found.
  package enum Place: String, Sendable {
    /// An entry in use in the index. The row was lost, or the row was changed without an update of the index.
    case entry
    /// The remains of an entry in the free space of an index page. In rare cases, parts of two entries look like one
    /// entry (1 of 903 in a test with random changes).
    case gap
    /// An entry on a page that the index no longer uses.
    case freePage
    /// A full-text index. It contains the words of a column in their order, each in the form in which the index stores
    /// words, without the text between them.
    case words
  }

  /// The name of the row's table; for words, the name of the virtual table.
  package let table: String
  /// The name of the index; for words, the name of the virtual table.
  package let index: String
  /// The row id at the end of the index entry; for words, the row id of the document.
  package let rowID: Int64
  /// The values, each with the name of its column, in the order of the index. A column may occur more than once.
  package let values: [(column: String, value: StoredValue)]
  package let place: Place
  /// The location of the index entry; nil for words, because the words of a document are stored in many places.
  package let origin: Origin?

  /// The location of an index entry in a file.
  package struct Origin: Sendable {
    package let member: Finding.Member
    package let page: UInt32
    /// The offset of the entry's first byte, in bytes from the start of the file `member`.
    package let offset: Int64
  }
}

/// Notes on what a search for ``IndexedValues`` could not read. Each note is a noun phrase, shown after "not
/// searched:".
package struct IndexedSearchNotes: Sendable {
  package fileprivate(set) var texts: [String] = []

  /// The maximum number of notes that are kept; further notes are dropped.
  private static let most = 50

  mutating func add(_ text: String) {
    if texts.count < Self.most, !texts.contains(where: { $0.utf8.elementsEqual(text.utf8) }) {
      texts.append(text)
    }
  }
}

extension DamagedDatabase {
  /// The index, in ``tables``, of the table with the given name. Case is ignored, as in SQL. Nil when there is no such
  /// table.
  func place(ofTable name: String) -> Int? {
    tables.firstIndex { SQLName.isSame($0.name, name) }
  }

  /// Passes to `receive` the values and words that only indexes and full-text indexes contain: no live row and no
  /// deleted row contains them. Stops when `receive` returns false. Indexes of ordinary tables come first, then
  /// full-text tables. Within an index, row ids ascend.
  ///
  /// - Returns: what the search could not read.
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
