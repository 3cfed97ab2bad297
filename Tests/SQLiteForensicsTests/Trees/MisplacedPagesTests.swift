import Fixtures
import Foundation
import SQLiteFile
@testable import SQLiteForensics
import Testing

/// Pages that are not those that their b-trees mean: of other stores, or of earlier states of the same one.
@Suite struct MisplacedPagesTests {
  struct Form: CustomTestStringConvertible {
    let pageSize: Int
    var pragmas = ""
    var testDescription: String { "\(pageSize) \(pragmas)" }
  }

  static let forms = [
    Form(pageSize: 512), Form(pageSize: 1024, pragmas: "PRAGMA auto_vacuum = FULL;"),
    Form(pageSize: 4096), Form(pageSize: 8192, pragmas: "PRAGMA encoding = 'UTF-16le';"),
  ]

  /// Without overflow pages: of those nothing but their number tells whose they are.
  private static func store(_ form: Form, rows: Int, seed: UInt64) throws -> DamageCase {
    try DamageCase(pageSize: form.pageSize, pragmas: form.pragmas) { connection in
      try Notebook.fill(connection, rows: rows, seed: seed)
      try connection.exec("CREATE INDEX event_at ON event(at, what)")
      try connection.exec("CREATE INDEX folder_name ON folder(name)")
      try connection.exec("CREATE INDEX event_what ON event(what)")
      try connection.exec("CREATE INDEX folder_kind ON folder(kind, name)")
      try connection.exec("CREATE INDEX note_title ON note(title)")
    }
  }

  /// Pages of tables in any order.
  private static func pages(_ made: DamageCase, _ generator: inout SplitMix64) -> [Int] {
    made.pages.filter { made.truth[$0.table] != nil }.map(\.number).shuffled(using: &generator)
  }

  /// The rows all pages of which are among those that are left.
  private static func intact(_ made: DamageCase, without pages: Set<Int>) -> Set<Judgement.Key> {
    var intact: Set<Judgement.Key> = []
    for table in made.truth.keys {
      for (place, stands) in made.places(of: table).enumerated()
      where stands.allSatisfy({ !pages.contains($0) }) {
        intact.insert(Judgement.Key(table: table, place: place))
      }
    }
    return intact
  }

  /// Another store of the same app: of its rows at most one in a hundred is given as a live one, and no page of it costs rows
  /// of others.
  @Test(arguments: forms) func pagesOfATwin(_ form: Form) throws {
    var generator = SplitMix64(seed: 5)
    var foreign = 0
    var unmarked: [String] = []
    var (intact, given) = (0, 0)
    for seed in 1...(Rounds.areLong ? 60 : 6) as ClosedRange<UInt64> {
      // Of a table with two pages nothing tells which of them is the other store's.
      let rows = max(400, form.pageSize / 4)
      let made = try Self.store(form, rows: rows, seed: seed)
      let other = try Self.store(form, rows: rows - 20, seed: seed + 1000)
      let pages = Set(
        Self.pages(made, &generator).prefix(max(2, made.pageCount / 12)))
      let recovered = try made.recover(.all) { bytes in
        for (count, page) in pages.sorted().enumerated() {
          let source =
            count % 2 == 0 && page <= other.pageCount
            ? page : Int.random(in: 2...other.pageCount, using: &generator)
          bytes.replaceSubrange(made.range(page), with: other.bytes[other.range(source)])
          foreign += other.pages("leaf").first { $0.number == source }?.cellCount ?? 0
        }
      }
      let judgement = Judgement(recovered, made)
      // Where all keys agree nothing is held against the indexes.
      if recovered.findings.contains("page.misplaced") {
        unmarked += judgement.wrong.map { "seed \(seed): \($0)" }
      }
      #expect(judgement.repeated.isEmpty, "seed \(seed)")
      let left = Self.intact(made, without: pages)
      intact += left.count
      given += left.count { judgement.exact.contains($0) || judgement.nameless.contains($0) }
    }
    #expect(foreign > 100)
    #expect(unmarked.count * 100 <= foreign, "\(foreign): \(unmarked.prefix(20))")
    // Where interior pages are the twin's, too, some come as deleted.
    #expect(given * 100 >= intact * 97, "\(given) of \(intact)")
  }

  /// A store of another app, among its pages some that stand in the place of a table's only leaf.
  @Test(arguments: forms) func pagesOfAStranger(_ form: Form) throws {
    let stranger = try DamageCase(pageSize: form.pageSize, pragmas: form.pragmas) { connection in
      try connection.exec(
        """
        CREATE TABLE place(id INTEGER PRIMARY KEY, url, title, visits, last, hidden, score);
        CREATE TABLE cookie(host, name, value, expires, secure, path, same);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)
        INSERT INTO place SELECT i * 3, 'https://example.org/' || i, 'page ' || i, i % 7, i * 1e6, 0, i / 3.0 FROM n;
        INSERT INTO cookie SELECT url, 'sid', hex(url), last, 1, '/', visits FROM place;
        """)
    }
    let leaves = stranger.pages("leaf").map(\.number)
    var generator = SplitMix64(seed: 9)
    let seeds: ClosedRange<UInt64> = 1...(Rounds.areLong ? 40 : 4)
    // A table of one leaf, and no keys in the file out of place: any column can hold anything.
    var unseen = 0
    for seed in seeds {
      let made = try Self.store(form, rows: 300, seed: seed)
      let pages = Set(
        Self.pages(made, &generator).prefix(max(3, made.pageCount / 10)))
      let recovered = try made.recover(.all) { bytes in
        for page in pages.sorted() {
          let source = try #require(leaves.randomElement(using: &generator))
          bytes.replaceSubrange(made.range(page), with: stranger.bytes[stranger.range(source)])
        }
      }
      let judgement = Judgement(recovered, made)
      #expect(judgement.repeated.isEmpty, "seed \(seed), pages \(pages.sorted())")
      guard recovered.findings.contains("page.misplaced"), judgement.wrong.isEmpty else {
        unseen += 1
        continue
      }
      let left = Self.intact(made, without: pages)
      let given = left.count { judgement.exact.contains($0) || judgement.nameless.contains($0) }
      #expect(given * 200 >= left.count * 199, "seed \(seed): \(given) of \(left.count)")
    }
    #expect(unseen <= max(1, seeds.count / 20), "\(unseen)")
  }

  /// The root of a table and all leaves below it but one are a twin's, which stand where pages of indexes were: the pointer
  /// map tells which pages were the table's own.
  @Test func aTreeThatThePointerMapDenies() throws {
    let form = Form(pageSize: 1024, pragmas: "PRAGMA auto_vacuum = FULL;")
    let made = try Self.store(form, rows: 400, seed: 3)
    let twin = try Self.store(form, rows: 340, seed: 1003)
    let root = try #require(made.pages("internal", of: "event").first).number
    try #require(twin.pages("internal", of: "event").map(\.number) == [root])
    let own = Set(made.pages("leaf", of: "event").map(\.number))
    let replaced = [root] + twin.pages("leaf", of: "event").map(\.number)
    try #require(replaced.allSatisfy { !own.contains($0) && $0 <= made.pageCount })
    let kept = try #require(
      replaced.last { page in
        made.pages.contains {
          $0.number == page && $0.kind == "leaf" && made.truth[$0.table] == nil
        }
      })
    let recovered = try made.recover(.all) { bytes in
      for page in replaced where page != kept {
        bytes.replaceSubrange(made.range(page), with: twin.bytes[twin.range(page)])
      }
    }
    let judgement = Judgement(recovered, made)
    #expect(judgement.wrong.isEmpty, "\(judgement.wrong.prefix(5))")
    let events = judgement.exact.count { $0.table == "event" }
    #expect(events == made.truth["event"]?.count)
  }

  /// Leaves of a twin on pages of an index, with row ids of leaves that are lost.
  @Test func leavesOfATwinOnPagesOfAnIndex() throws {
    let form = Form(pageSize: 1024)
    let made = try Self.store(form, rows: 400, seed: 4)
    let twin = try Self.store(form, rows: 400, seed: 1004)
    let leaves = made.pages("leaf", of: "event")
    let others = twin.pages("leaf", of: "event")
    let index = made.pages.filter { $0.kind == "leaf" && $0.table == "event_what" }
    try #require(index.count > 2 && others.count > 4 && leaves.count > 4)
    let lost = leaves[1...4]
    let recovered = try made.recover(.all) { bytes in
      for leaf in lost {
        bytes.replaceSubrange(
          made.range(leaf.number), with: [UInt8](repeating: 0, count: form.pageSize))
      }
      for (page, source) in zip(index, [others[2], others[3]]) {
        bytes.replaceSubrange(made.range(page.number), with: twin.bytes[twin.range(source.number)])
      }
    }
    let judgement = Judgement(recovered, made)
    #expect(judgement.wrong.isEmpty, "\(judgement.wrong.prefix(5))")
    #expect(judgement.exact.count + lost.reduce(0) { $0 + $1.cellCount } == judgement.total)
  }

  /// Leaves of another app's store: in place of one of the schema's own, whose keys agree with its row ids; of a table's only
  /// leaf; and of the only leaf of a table that the schema named there.
  @Test func aStrangersLeafAmongThoseOfTheSchema() throws {
    let made = try DamageCase(pageSize: 512) { connection in
      // No two of them look alike, and the first one has fewer columns than the stranger's.
      for number in 1...24 {
        let count = number == 1 ? 3 : number + 5
        let columns = (0..<count).map { "c\($0) INTEGER" }.joined(separator: ", ")
        let values = (0..<count).map { "\(number * 100 + $0)" }.joined(separator: ", ")
        try connection.exec(
          "CREATE TABLE thing\(number)(\(columns)); INSERT INTO thing\(number) VALUES (\(values))")
      }
    }
    let stranger = try DamageCase(pageSize: 512) {
      try $0.exec(
        """
        CREATE TABLE cookie(host, name, value, expires, secure);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 90)
        INSERT INTO cookie SELECT 'h' || i, 'sid', hex(randomblob(20)), i * 1000, 1 FROM n;
        """)
    }
    let schema = made.pages.filter { $0.table.hasPrefix("sqlite_") && $0.kind == "leaf" }
    let places = [
      try #require(schema.last).number, made.pages("leaf", of: "thing1")[0].number,
      made.pages("leaf", of: "thing24")[0].number,
    ]
    let sources = stranger.pages("leaf", of: "cookie").suffix(4)
    let recovered = try made.recover(.all) { bytes in
      for (page, source) in zip(places, sources) {
        bytes.replaceSubrange(
          made.range(page), with: stranger.bytes[stranger.range(source.number)])
      }
    }
    let judgement = Judgement(recovered, made)
    #expect(recovered.findings.contains("page.misplaced"))
    #expect(judgement.wrong.isEmpty, "\(judgement.wrong.prefix(5))")
    #expect(judgement.missing.map(\.table).sorted() == ["thing1", "thing24"])
  }

  /// Where a page and the key before it disagree, the pages around it decide.
  @Test func aFalseKeyCostsNoRow() throws {
    let made = try DamageCase(pageSize: 1024) { try Notebook.fill($0, rows: 900) }
    var looked = 0
    for page in made.pages("internal", of: "note") {
      let start = made.range(page.number).lowerBound
      let base = page.number == 1 ? 100 : 0
      for index in stride(from: 0, to: page.cellCount - 1, by: 5) {
        let pointer = start + base + 12 + 2 * index
        let cell = start + Int(made.bytes[pointer]) << 8 + Int(made.bytes[pointer + 1])
        for change in [UInt8(1), 0x10, 0x40] {
          let recovered = try made.recover(.all) { $0[cell + 5] ^= change }
          Judgement(recovered, made).expectAll("page \(page.number), cell \(index), \(change)")
          looked += 1
        }
      }
    }
    #expect(looked > 20, "\(looked)")
  }

  /// One flipped bit in a pointer leads to another table's leaf, and another one on that leaf makes it doubtful: it stays with
  /// the table whose keys it fits.
  @Test(arguments: [("note", "event"), ("event", "note")])
  func aDamagedLeafToWhichAnotherTableLeads(_ from: String, _ to: String) throws {
    let made = try DamageCase(pageSize: 1024) { try Notebook.fill($0, rows: 900) }
    let interior = try #require(made.pages("internal", of: from).last)
    let start = made.range(interior.number).lowerBound
    let cell = start + Int(made.bytes[start + 16]) << 8 + Int(made.bytes[start + 17])
    let leaves = made.pages("leaf", of: to).filter { $0.cellCount > 6 }
    try #require(leaves.count > 6)
    for leaf in leaves[2..<6] {
      let recovered = try made.recover(.all) { bytes in
        for byte in 0..<4 {
          bytes[cell + byte] = UInt8(truncatingIfNeeded: leaf.number >> (24 - 8 * byte))
        }
        // The third cell pointer of the leaf.
        bytes[made.range(leaf.number).lowerBound + 13] ^= 0x40
      }
      let judged = Judgement(recovered, made)
      judged.expectHonest("page \(leaf.number)")
      let lost = Set(made.rows(of: leaf)).subtracting(
        judged.exact.union(judged.partial).filter { $0.table == to }.map(\.place))
      #expect(lost.count < 3, "\(lost.count) of \(leaf.cellCount) rows of page \(leaf.number)")
    }
  }

  /// A leaf that lost most of its cells with a sector, and to which nothing leads, because its parent lost a sector too: the
  /// cells that are left are rows.
  @Test func halfALeafToWhichNothingLeads() throws {
    let made = try DamageCase(pageSize: 1024) { try Notebook.fill($0, rows: 900) }
    var tried = 0
    for leaf in made.pages("leaf", of: "folder") + made.pages("leaf", of: "event")
    where leaf.path.count > 1 {
      let start = made.range(leaf.number).lowerBound
      let offsets = (0..<leaf.cellCount).map { index in
        Int(made.bytes[start + 8 + 2 * index]) << 8 + Int(made.bytes[start + 9 + 2 * index])
      }
      let places = made.rows(of: leaf)
      let left = offsets.indices.filter { index in
        offsets.contains { $0 > offsets[index] && $0 <= 512 }
      }
      let lostCount = offsets.count { $0 >= 512 }
      guard left.count > 2, lostCount > left.count + 2 else { continue }
      let recovered = try made.recover(.all) { bytes in
        bytes.replaceSubrange(start + 512..<start + 1024, with: repeatElement(0, count: 512))
        for parent in made.pages("internal", of: leaf.table) {
          let base = made.range(parent.number).lowerBound
          let pointer = (0..<4).map { UInt8(truncatingIfNeeded: leaf.number >> (24 - 8 * $0)) }
          for offset in base + 8..<base + 1020 where Array(bytes[offset..<offset + 4]) == pointer {
            bytes.replaceSubrange(offset..<offset + 4, with: [0, 0, 0, 0])
          }
        }
      }
      tried += 1
      let judged = Judgement(recovered, made)
      judged.expectHonest("page \(leaf.number)")
      let found = judged.exact.union(judged.nameless).union(judged.partial)
      let missing = left.filter { index in
        !found.contains { $0.table == leaf.table && $0.place == places.lowerBound + index }
          && !recovered.dead.contains {
            $0.rowID == made.truth[leaf.table]?[places.lowerBound + index].rowid
          }
      }
      #expect(missing.isEmpty, "\(missing.count) of \(left.count) rows of page \(leaf.number)")
      if tried == 5 { break }
    }
    #expect(tried > 0)
  }

  /// A cluster of a twin within a leaf that is larger: its rows are not given as live ones, and those around it are.
  @Test(arguments: [16384, 32768]) func partOfALeafOfATwin(_ pageSize: Int) throws {
    let form = Form(pageSize: pageSize)
    let cluster = 4096
    var (clusters, foreign, wrong) = (0, 0, 0)
    for seed in 1...(Rounds.areLong ? 12 : 3) as ClosedRange<UInt64> {
      let made = try Self.store(form, rows: 3000, seed: seed)
      let other = try Self.store(form, rows: 2980, seed: seed + 1000)
      for leaf in made.pages("leaf") where leaf.number > 1 && leaf.path.count > 1 {
        guard leaf.number <= other.pageCount, ["event", "folder"].contains(leaf.table) else {
          continue
        }
        let block = Int(leaf.number + Int(seed)) % (pageSize / cluster - 3) + 2
        let start = made.range(leaf.number).lowerBound + block * cluster
        let range = start..<start + cluster
        let recovered = try made.recover(.all) {
          $0.replaceSubrange(range, with: other.bytes[range])
        }
        let judgement = Judgement(recovered, made)
        #expect(judgement.repeated.isEmpty, "page \(leaf.number), seed \(seed)")
        clusters += 1
        foreign += leaf.cellCount * cluster / pageSize
        wrong += judgement.wrong.count
        // Those that the cluster has taken away, and those of which it has taken a part.
        let taken = leaf.cellCount * cluster / pageSize + 8
        #expect(judgement.exact.count >= judgement.total - taken * 2, "page \(leaf.number)")
      }
    }
    #expect(clusters > 5 && foreign > 100, "\(clusters), \(foreign)")
    // A row through the border has the lengths of its own store and the last values of the other one.
    #expect(wrong <= 2 * clusters, "\(wrong) of \(foreign) in \(clusters)")
  }

  /// A page of which an older state came back: what has moved to others since comes once.
  @Test(arguments: [512, 4096]) func anOlderStateOfALeaf(_ pageSize: Int) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("made.sqlite")
    let connection = try SQLiteConnection(url)
    defer { connection.close() }
    try connection.exec("PRAGMA page_size = \(pageSize); PRAGMA secure_delete = OFF")
    try connection.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT)")
    func insert(from first: Int, where condition: String) throws {
      try connection.exec(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
        INSERT INTO t SELECT i * 2 + \(first), 'row ' || i || ' of the table, and more of it' FROM n
        WHERE \(condition)
        """)
    }
    try insert(from: 0, where: "1")
    let before = try bytes(of: url)
    try insert(from: 1, where: "i % 40 < 20")
    let made = try DamageCase(connection, url)
    var moved = 0
    let changed = made.pages("leaf", of: "t").filter { leaf in
      guard leaf.number * pageSize <= before.count else { return false }
      let old = before[made.range(leaf.number)]
      return old.first == 13 && old != made.bytes[made.range(leaf.number)]
    }
    for leaf in Rounds.part(of: changed, every: pageSize == 512 ? 8 : 2) {
      let old = Array(before[made.range(leaf.number)])
      let recovered = try made.recover(.all) {
        $0.replaceSubrange(made.range(leaf.number), with: old)
      }
      let judgement = Judgement(recovered, made)
      judgement.expectHonest("page \(leaf.number)")
      let others = made.truth["t", default: []].count - leaf.cellCount
      #expect(judgement.exact.count >= others, "page \(leaf.number)")
      moved += 1
    }
    #expect(moved > 5, "\(moved)")
  }

  /// Two leaves that have changed places keep all rows.
  @Test(arguments: forms) func exchangedLeaves(_ form: Form) throws {
    let made = try Self.store(form, rows: 600, seed: 3)
    let leaves = made.pages("leaf").filter { $0.number > 1 && $0.path.count > 1 }
    for (one, other) in zip(leaves, leaves.dropFirst(3)).prefix(12) {
      let recovered = try made.recover(.live) { bytes in
        bytes.replaceSubrange(made.range(one.number), with: made.bytes[made.range(other.number)])
        bytes.replaceSubrange(made.range(other.number), with: made.bytes[made.range(one.number)])
      }
      Judgement(recovered, made).expectAll("\(one.number) and \(other.number)")
    }
  }

  /// The only leaf of a small table, and a leaf of a wide one, exchanged: no other leaf of the small table says what its
  /// rows are, but the rows of the wide one cannot be its.
  @Test(arguments: forms) func anOnlyLeafIsExchanged(_ form: Form) throws {
    let columns = (1...24).map { "z\($0) \($0 % 3 == 0 ? "VARCHAR" : "INTEGER")" }
    let values = (1...24).map { $0 % 3 == 0 ? "'text ' || i" : "i * \($0)" }
    let made = try DamageCase(pageSize: form.pageSize, pragmas: form.pragmas) { connection in
      try connection.exec(
        """
        CREATE TABLE token(pk INTEGER PRIMARY KEY, ent INTEGER, opt INTEGER, owner VARCHAR, zone VARCHAR);
        CREATE TABLE wide(pk INTEGER PRIMARY KEY, \(columns.joined(separator: ", ")));
        INSERT INTO token VALUES (1, 3, 1, 'me', 'Notes'), (2, 3, 1, 'you', 'Notes'), (3, 3, 2, 'me', 'Places');
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
        INSERT INTO wide SELECT i, \(values.joined(separator: ", ")) FROM n;
        """)
    }
    let only = try #require(made.pages("leaf", of: "token").first?.number)
    try #require(made.pages("leaf", of: "token").count == 1)
    for leaf in made.pages("leaf", of: "wide").map(\.number).prefix(8) {
      let recovered = try made.recover(.live) { bytes in
        bytes.replaceSubrange(made.range(only), with: made.bytes[made.range(leaf)])
        bytes.replaceSubrange(made.range(leaf), with: made.bytes[made.range(only)])
      }
      Judgement(recovered, made).expectAll("\(only) and \(leaf)")
    }
  }

  /// The same where rows are missing around those of the wide table's leaf, each of which fills a page and more: nothing but
  /// the exchange itself says where they belong.
  @Test func anOnlyLeafIsExchangedWithALeafOfOneRow() throws {
    let columns = (1...40).map { "z\($0) \($0 % 3 == 0 ? "VARCHAR" : "INTEGER")" }
    let made = try DamageCase(pageSize: 4096, pragmas: "PRAGMA auto_vacuum = INCREMENTAL;") {
      try $0.exec(
        """
        CREATE TABLE token(pk INTEGER PRIMARY KEY, ent INTEGER, opt INTEGER, owner VARCHAR, data BLOB);
        CREATE TABLE wide(pk INTEGER PRIMARY KEY, \(columns.joined(separator: ", ")), body BLOB);
        INSERT INTO token VALUES (5, 3, 1, 'me', x'01'), (6, 3, 1, 'you', x'02'), (8, 3, 2, NULL, x'03');
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
        INSERT INTO wide(pk, z1, z3, z6, body) SELECT i, i % 7, 'title ' || i, 'text', randomblob(7500) FROM n;
        DELETE FROM wide WHERE pk BETWEEN 5 AND 7 OR pk IN (20, 21);
        """)
    }
    let only = try #require(made.pages("leaf", of: "token").first?.number)
    for leaf in made.pages("leaf", of: "wide").map(\.number) {
      let recovered = try made.recover(.live) { bytes in
        bytes.replaceSubrange(made.range(only), with: made.bytes[made.range(leaf)])
        bytes.replaceSubrange(made.range(leaf), with: made.bytes[made.range(only)])
      }
      Judgement(recovered, made).expectAll("\(only) and \(leaf)")
    }
  }

  /// A leaf of nothing but unusual rows is its table's where other leaves have such rows among ordinary ones, even if other
  /// pages are misplaced: Core Data's history keeps text in columns that are declared as BLOB.
  @Test func unusualRowsStayInTheirTable() throws {
    let made = try DamageCase { connection in
      try connection.exec(
        """
        CREATE TABLE change(pk INTEGER PRIMARY KEY, ent INTEGER, kind INTEGER, old BLOB);
        CREATE TABLE block(pk INTEGER PRIMARY KEY, minutes INTEGER, ent INTEGER);
        CREATE TABLE item(pk INTEGER PRIMARY KEY, name VARCHAR, place VARCHAR, zone VARCHAR);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
        INSERT INTO change SELECT i, 16001, i % 3, CASE WHEN i % 37 = 0 OR i BETWEEN 1500 AND 1560
          THEN 'what the row was ' || i || hex(zeroblob(20)) END FROM n;
        INSERT INTO block SELECT pk, pk % 60, 7 FROM change WHERE pk <= 600;
        INSERT INTO item SELECT pk, 'name ' || pk, 'a place', 'Notes' FROM block;
        """)
    }
    let one = try #require(made.pages("leaf", of: "block").dropFirst(2).first).number
    let other = try #require(made.pages("leaf", of: "item").dropFirst(3).first).number
    let recovered = try made.recover(.live) { bytes in
      bytes.replaceSubrange(made.range(one), with: made.bytes[made.range(other)])
      bytes.replaceSubrange(made.range(other), with: made.bytes[made.range(one)])
    }
    #expect(recovered.findings.filter { $0 == "page.misplaced" }.count == 2)
    Judgement(recovered, made).expectAll()
  }

  /// A leaf without rows, and a single odd row, are evidence neither for a table nor against it.
  @Test func whatProvesNothingDecidesNothing() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE t(a INTEGER, b INTEGER); INSERT INTO t VALUES(1, 2), (3, 4);
      CREATE TABLE none(a INTEGER, b INTEGER);
      CREATE TABLE odd(a TEXT, b TEXT); INSERT INTO odd VALUES('one', 'two');
      """)
    var pages: [UInt32] = []
    for name in ["t", "none", "odd"] {
      pages.append(
        UInt32(
          try connection.integer("SELECT rootpage FROM sqlite_schema WHERE name = '\(name)'") ?? 0))
    }
    connection.close()
    let database = try DamagedDatabase(path: url.path)
    let table = try #require(database.place(ofTable: "t"))
    #expect(try pages.map { try database.holdsRows(of: table, $0) } == [true, false, false])
    #expect(try pages.map { try database.mayHoldRows(of: table, $0) } == [true, true, true])
  }

  /// Rows of a table WITHOUT ROWID look like entries of an index. Where their pages have changed places, it is told.
  @Test func anIndexInPlaceOfATable() throws {
    let made = try DamageCase { connection in
      try connection.exec(
        """
        CREATE TABLE w(k TEXT PRIMARY KEY, v) WITHOUT ROWID;
        CREATE TABLE a(id INTEGER PRIMARY KEY, t);
        CREATE INDEX a_t ON a(t);
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 29)
        INSERT INTO a SELECT i, 'text ' || i FROM n;
        INSERT INTO w SELECT printf('key%02d', id), id FROM a;
        """)
    }
    let whole = try made.recover { _ in }
    #expect(whole.findings.isEmpty, "\(whole.findings)")
    Judgement(whole, made).expectAll()
    let places = made.pages.filter { $0.table == "w" || $0.table == "a_t" }.map(\.number)
    try #require(places.count == 2)
    let recovered = try made.recover { bytes in
      bytes.replaceSubrange(made.range(places[0]), with: made.bytes[made.range(places[1])])
      bytes.replaceSubrange(made.range(places[1]), with: made.bytes[made.range(places[0])])
    }
    #expect(recovered.findings.contains("index.badEntries"), "\(recovered.findings)")
  }

  /// Fields beyond the columns of a table are never left out without a word.
  @Test func tooManyFieldsAreTold() throws {
    let made = try DamageCase { connection in
      try connection.exec(
        """
        CREATE TABLE t(a, b, c); INSERT INTO t VALUES (1, 'x', 2), (3, 'y', 4);
        PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE t(a, b)';
        """)
    }
    let recovered = try made.recover(.live) { _ in }
    #expect(recovered.findings.contains("record.tooManyFields"))
  }
}
