import Fixtures
import Foundation
import SQLiteFile
import Testing
@testable import SQLiteForensics

/// The reader of damaged files on whole ones, and on files that lost what leads to their rows.
@Suite struct DamagedDatabaseTests {
  /// Three of tens of thousands of rows are left out unless there is time: smaller ones have the same kinds of pages.
  private static let fixtures = StoreFixtures.all.filter {
    let isLarge = ["journal-hot-page-65536", "auto-vacuum-reserved", "deep-table"].contains($0.name)
    return !$0.name.hasSuffix("surrogates") && !$0.name.contains("nothing")
      && $0.name != "text-utf8-invalid" && (!isLarge || Rounds.areLong)
  }

  /// On a healthy file it gives what SQLite gives, no more and no less.
  @Test(arguments: fixtures)
  func healthyFilesAreReadAsSQLiteReadsThem(_ fixture: StoreFixture) throws {
    let folder = try TemporaryFolder()
    let store = try fixture.make(folder.url)
    let truth = try SQLiteConnection.rowsOfEveryTable(inCopyOf: store)
    if truth.isEmpty { return }
    let keyed = Set(truth.filter { $0.value.contains { $0.rowid != nil } }.keys)
    let before = treeState(of: folder.url)
    let database = try DamagedDatabase(path: store.path)
    var given: [String: [[FixtureValue]: Int]] = [:]
    try database.forEachRow(.live) { row in
      guard let place = row.origin.table else {
        Issue.record("a row of no table: \(row.values.prefix(8).map { FixtureValue($0) })")
        return true
      }
      let table = database.tables[place]
      let columns = table.definition.columns
      let values = row.values.enumerated().map { index, value in
        // VIRTUAL generated columns are not in the file.
        index < columns.count && columns[index].generation == .virtual ? .null : FixtureValue(value)
      }
      #expect(row.partial.isEmpty)
      let isKeyed = keyed.contains(table.name)
      let key: FixtureValue = isKeyed ? row.rowID.map { .integer($0) } ?? .null : .null
      given[table.name, default: [:]][[key] + values, default: 0] += 1
      return true
    }
    for (name, rows) in truth where !rows.isEmpty {
      let columns = database.tables.first { $0.name == name }?.definition.columns ?? []
      var left = given[name] ?? [:]
      var missing = 0
      for row in rows {
        let values = row.values.enumerated().map { index, value in
          index < columns.count && columns[index].generation == .virtual ? .null : value
        }
        let key = [row.rowid.map { FixtureValue.integer($0) } ?? .null] + values
        if let count = left[key], count > 0 {
          left[key] = count - 1
        } else {
          missing += 1
        }
      }
      let more = left.values.reduce(0, +)
      #expect(missing == 0, "\(name): \(missing) of \(rows.count)")
      #expect(more == 0, "\(name): \(left.filter { $0.value > 0 }.keys.prefix(2))")
    }
    #expect(treeState(of: folder.url) == before)
  }

  /// Text that is no UTF-8 is given as bytes, so that nobody takes a bent form of it for what the file has.
  @Test func textThatIsNotValidIsGivenAsBytes() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("text-utf8-invalid").make(folder.url)
    let truth = try SQLiteConnection.rowsOfEveryTable(inCopyOf: store)
    let recovered = try Recovered(path: store.path, .live)
    #expect(recovered.rows.count == truth.values.reduce(0) { $0 + $1.count })
    for row in recovered.rows {
      let table = try #require(recovered.table(of: row))
      let wanted = try #require(truth[table]?.first { $0.rowid == row.rowID }).values
      for (column, value) in wanted.enumerated() {
        if let partial = row.partial.first(where: { $0.column == column }) {
          #expect(value == .text(partial.bytes) && partial.isDoubtful && partial.have == partial.of)
          #expect(row.values[column] == .null)
        } else {
          #expect(FixtureValue(row.values[column]) == value)
        }
      }
    }
  }

  /// Both ways of handing rows out give the same.
  @Test func bufferedRowsAreTheSame() throws {
    let store = try DamageCase(pragmas: "PRAGMA auto_vacuum = FULL") {
      try Notebook.fill($0, rows: 100, longest: 3000)
      try $0.exec("DELETE FROM folder WHERE id % 4 = 0")
    }
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("t.sqlite")
    var content = store.bytes
    let page = try #require(store.pages("overflow", of: "note").first)
    content.replaceSubrange(store.range(page.number), with: repeatElement(0, count: 1024))
    try Data(content).write(to: url)
    let database = try DamagedDatabase(path: url.path)
    var rows: [RecoveredRow] = []
    try database.forEachRow(.all) { row in
      rows.append(row)
      return true
    }
    var place = 0
    try database.forEachBufferedRow(.all) { buffer in
      guard place < rows.count else { return false }
      let row = rows[place]
      place += 1
      #expect(buffer.origin == row.origin && buffer.rowID == row.rowID)
      #expect(buffer.partial == row.partial)
      for (value, wanted) in zip(buffer.values, row.values) {
        let given: StoredValue =
          switch value.kind {
          case .null: .null
          case .integer: .integer(value.bits)
          case .real: .real(Double(bitPattern: UInt64(bitPattern: value.bits)))
          case .text: .text(StoredText(utf8: buffer.content(of: value)))
          case .blob: .blob(buffer.content(of: value))
          }
        #expect(given == wanted)
      }
      return true
    }
    #expect(place == rows.count && rows.contains { !$0.partial.isEmpty })
  }

  @Test func onlyTheTablesThatAreWanted() throws {
    let store = try DamageCase { try Notebook.fill($0, rows: 100) }
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("t.sqlite")
    try Data(store.bytes).write(to: url)
    let database = try DamagedDatabase(path: url.path)
    for names in [["note"], ["folder", "event"], ["nothing"]] as [[String]] {
      var given: Set<String> = []
      var count = 0
      try database.forEachRow(.all, of: names) { row in
        if let table = row.origin.table { given.insert(database.tables[table].name) }
        count += 1
        return true
      }
      #expect(count == names.reduce(0) { $0 + (store.truth[$1]?.count ?? 0) })
      #expect(given.isSubset(of: names))
    }
  }

  /// Swift treats the two names as equal, SQLite does not.
  @Test func wantedTablesAreNamedByTheirBytes() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("names.sqlite")
    let names = ["caf\u{e9}", "cafe\u{301}"]
    let connection = try SQLiteConnection(url)
    for name in names {
      try connection.exec(
        "CREATE TABLE \"\(name)\" (x); INSERT INTO \"\(name)\" VALUES ('a'), ('b')")
    }
    connection.close()
    let database = try DamagedDatabase(path: url.path)
    for wanted in [[names[0]], [names[1]], names] {
      var given: [[UInt8]] = []
      try database.forEachRow(.live, of: wanted) { row in
        given.append(row.origin.table.map { Array(database.tables[$0].name.utf8) } ?? [])
        return true
      }
      #expect(given == wanted.flatMap { [Array($0.utf8), Array($0.utf8)] })
    }
  }

  // MARK: - Interior pages

  @Test(arguments: ["NONE", "FULL"], [false, true])
  func lostInteriorPagesCostNothing(_ vacuum: String, _ isNoise: Bool) throws {
    let store = try DamageCase(pageSize: 512, pragmas: "PRAGMA auto_vacuum = \(vacuum)") {
      try Notebook.fill($0, rows: 1200)
    }
    let pages = store.pages("internal")
    try #require(pages.count > 6)
    func ruin(_ number: Int, _ bytes: inout [UInt8]) {
      var generator = SplitMix64(seed: UInt64(number))
      bytes.replaceSubrange(
        store.range(number),
        with: isNoise ? generator.bytes(512) : [UInt8](repeating: 0, count: 512))
    }
    for page in pages {
      let recovered = try store.recover { ruin(page.number, &$0) }
      Judgement(recovered, store).expectAll("page \(page.number) of \(page.table)")
    }
    // All of them at once.
    let recovered = try store.recover { bytes in pages.forEach { ruin($0.number, &bytes) } }
    Judgement(recovered, store).expectAll()
  }

  // MARK: - Kinds of tables

  @Test func rowsOfATableWithoutRowIDAreRead() throws {
    let store = try DamageCase(pageSize: 512) { connection in
      try connection.exec(
        "CREATE TABLE setting(name TEXT, part INTEGER, value TEXT, weight REAL, PRIMARY KEY(part, name)) WITHOUT ROWID"
      )
      try connection.insert(
        "INSERT INTO setting VALUES(?, ?, ?, ?)",
        (0..<400).map {
          [
            .string("key \($0 * 7 % 400)"), .integer(Int64($0 % 5)), .string("value \($0)"),
            .real(Double($0)),
          ]
        })
    }
    Judgement(try store.recover { _ in }, store).expectAll()
    for page in Rounds.part(of: store.pages("leaf", of: "setting").prefix(6), every: 2) {
      let recovered = try store.recover {
        $0.replaceSubrange(store.range(page.number), with: repeatElement(0, count: 512))
      }
      let judgement = Judgement(recovered, store)
      judgement.expectHonest()
      #expect(judgement.exact.count == judgement.total - page.cellCount)
    }
  }

  /// Rows from before a column was added have fewer fields, and a SELECT gives them the default.
  @Test func rowsFromBeforeAColumnWasAddedHaveItsDefault() throws {
    let store = try DamageCase { connection in
      try connection.exec("CREATE TABLE entry(id INTEGER PRIMARY KEY, title TEXT, size REAL)")
      func add(_ range: ClosedRange<Int>) throws {
        try connection.insert(
          "INSERT INTO entry(id, title, size) VALUES(?, ?, ?)",
          range.map { [.integer(Int64($0)), .string("entry number \($0)"), .real(Double($0))] })
      }
      try add(1...150)
      try connection.exec("ALTER TABLE entry ADD COLUMN color TEXT DEFAULT 'blue'")
      try connection.exec("ALTER TABLE entry ADD COLUMN rank INTEGER NOT NULL DEFAULT 42")
      try connection.exec("ALTER TABLE entry ADD COLUMN note")
      try add(151...300)
    }
    Judgement(try store.recover { _ in }, store).expectAll()
    for leaf in store.pages("leaf", of: "entry") {
      let start = store.range(leaf.number).lowerBound
      let recovered = try store.recover {
        $0.replaceSubrange(start..<start + 8, with: repeatElement(0, count: 8))
      }
      let judgement = Judgement(recovered, store)
      judgement.expectHonest("page \(leaf.number)")
      #expect(judgement.missing.isEmpty, "page \(leaf.number)")
    }
  }

  // MARK: - Files of others

  @Test(.enabled(if: Shared.isThere)) func damagedFilesOfOthersAreReadToTheirEnd() throws {
    guard let shared = Shared.require("damaged files of others, page by page") else { return }
    let root = shared.appendingPathComponent("stores/corrupt")
    let names =
      FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
    var opened = 0
    for name in Rounds.part(of: names.sorted(), every: 3) {
      let url = root.appendingPathComponent(name)
      let facts = try FileManager.default.attributesOfItem(atPath: url.path)
      let size = facts[.type] as? FileAttributeType == .typeRegular ? facts[.size] as? Int ?? 0 : 0
      let isOther = ["xml", "sql", "tsv", "txt", "md"].contains(url.pathExtension)
      guard size > 0, !isOther else { continue }
      do {
        let database = try DamagedDatabase(path: url.path)
        var rows = 0
        try database.forEachBufferedRow(.all) { _ in
          rows += 1
          return true
        }
        // A row takes six bytes or more, and is given once for each place that it stands at.
        #expect(rows <= size, "\(name): \(rows) rows")
        opened += 1
      } catch {
        let isFit = [.notADatabase, .looksEncrypted, .empty, .isLog, .isJournal].contains(
          error.code)
        #expect(isFit, "\(name): \(error)")
      }
    }
    #expect(opened > (Rounds.areLong ? 100 : 60), "\(opened)")
  }
}
