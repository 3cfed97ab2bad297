import SQLiteFile

extension DamagedDatabase {
  /// Ensures that no two tables have the same root page. Of several tables with the same root page, only the table that
  /// `RootChoice` chooses keeps this root page. For the others, ``ExpectedTable/rootPage`` becomes nil.
  func settleSharedRoots(of tables: inout [ExpectedTable]) throws(SQLiteFileError) {
    var places: [UInt32: [Int]] = [:]
    for (place, table) in tables.enumerated() where !table.isDropped {
      if let root = table.rootPage { places[root, default: []].append(place) }
    }
    for (root, sharing) in places.sorted(by: { $0.key < $1.key }) where sharing.count > 1 {
      let candidates = sharing.map { place in
        let table = tables[place]
        return Table(
          name: table.name, rootPage: root, definition: table.isDescribed ? table.definition : nil,
          sql: table.sql, place: place)
      }
      let chosen = try RootChoice.choose(candidates, encoding: layout.textEncoding, &reader)
      for place in sharing where place != chosen.place {
        tables[place].rootPage = nil
        let location = reader.location(of: root)
        findings.add(
          Finding(
            .pageOtherTable,
            "the schema names this page as the root page of several tables; its rows count as rows of the table \(chosen.name)",
            member: location.member, page: root, offset: location.offset, table: tables[place].name)
        )
      }
    }
  }
}
