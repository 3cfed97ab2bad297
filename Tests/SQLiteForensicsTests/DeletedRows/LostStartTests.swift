import Fixtures
import SQLiteFile
@testable import SQLiteForensics
import Testing

/// Deleted rows whose lengths, and perhaps the type of their first value, a free block has overwritten: whatever the
/// length of the row id, values are read as those of their own columns.
@Suite struct LostStartTests {
  /// A table that is filled and from which rows are then deleted.
  private static func change(_ fill: String, _ delete: String) throws -> DeletedRowsTests.Change {
    try DeletedRowsTests.Change(
      pageSize: 4096, fill: { try $0.exec(fill) }, steps: [{ try $0.exec(delete) }])
  }

  /// A row id from 128 on takes two bytes, so a free block overwrites all lengths, but no type. With a guessed first
  /// type, the other types would be read as those of the columns behind.
  @Test(arguments: [
    ("a REAL, b INTEGER", "i * 1.37, i * 7"), ("a REAL, b REAL", "i * 1.37, i * 0.25"),
    ("a INTEGER, b INTEGER", "i * 3, i * 700"),
    ("a TEXT, b TEXT", "'name ' || i, 'title ' || i % 7"),
    ("a INTEGER, b INTEGER, c INTEGER", "i * 3, i * 300, i * 7"),
    ("a REAL, b INTEGER, c INTEGER", "i * 1.5, i * 300, i * 7"),
  ])
  func rowsBehindALongRowIDAreReadByTheirOwnTypes(_ columns: String, _ values: String) throws {
    let change = try Self.change(
      """
      CREATE TABLE t(\(columns));
      INSERT INTO t(rowid) VALUES (1000);
      WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 100)
        INSERT INTO t SELECT \(values) FROM c;
      """,
      "DELETE FROM t WHERE rowid % 3 = 0")
    let (_, finds) = try DeletedRowsTests.recover(change)
    finds.expectHonest()
    #expect(change.dead == 33 && finds.count >= 32, "\(finds.count)")
  }

  /// The type of a text or blob from 58 bytes on has two bytes, of which a free block overwrites the first.
  @Test(arguments: [
    ("a TEXT, b INTEGER", "printf('%.*c', 40 + 2 * i, char(96 + i)), i * 3"),
    ("a TEXT, b TEXT", "printf('%.*c', 50 + 2 * i, char(96 + i)), 'row ' || i"),
    ("a BLOB, b INTEGER", "CAST(printf('%.*c', 50 + 2 * i, char(96 + i)) AS BLOB), i * 300"),
    ("a, b INTEGER", "CAST(printf('%.*c', 60 + 2 * i, char(96 + i)) AS BLOB), i * 300"),
    ("a TEXT", "printf('%.*c', 60 + 2 * i, char(96 + i))"),
  ])
  func aLongFirstValueIsFoundWhateverItsLength(_ columns: String, _ values: String) throws {
    let change = try Self.change(
      """
      CREATE TABLE t(\(columns));
      WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 26)
        INSERT INTO t SELECT \(values) FROM c;
      """,
      "DELETE FROM t WHERE rowid % 3 = 0")
    let (all, finds) = try DeletedRowsTests.recover(change)
    finds.expectHonest()
    #expect(finds.count == change.dead && change.dead == 8, "\(finds.count)")
    let partial = all.dead.filter { !$0.partial.isEmpty }
    #expect(partial.isEmpty)
  }

  /// The first value behind the row id is NULL, and the table once had a column less. Without the row id, which the
  /// free block has overwritten, the values would fit the columns one place to the left.
  @Test func rowsOfATableThatGrewAreReadByTheirOwnTypes() throws {
    let change = try Self.change(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, a INTEGER, b INTEGER);
      INSERT INTO t VALUES (1, 5, 5), (2, 6, 6);
      ALTER TABLE t ADD COLUMN c INTEGER;
      WITH RECURSIVE c(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM c WHERE i < 60)
        INSERT INTO t SELECT i, NULL, i * 300, i FROM c;
      """,
      "DELETE FROM t WHERE id IN (10, 20, 30, 40)")
    let (all, finds) = try DeletedRowsTests.recover(change)
    finds.expectHonest()
    #expect(finds.count == 4)
    #expect(all.dead.allSatisfy { $0.origin.confidence == 70 })
  }

  /// The first byte of each first value is also a serial type of one byte, so the rows could have longer row ids, and
  /// end in the same place. The other rows of the page have short ones.
  @Test func rowsBehindAShortRowIDAreReadByTheirOwnTypes() throws {
    let change = try Self.change(
      """
      CREATE TABLE t(a INTEGER, b INTEGER);
      WITH RECURSIVE c(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM c WHERE i < 120)
        INSERT INTO t SELECT i + 256, i FROM c;
      """,
      "DELETE FROM t WHERE rowid IN (10, 20, 30, 40, 50, 60, 70)")
    let (_, finds) = try DeletedRowsTests.recover(change)
    finds.expectHonest()
    #expect(finds.count == 7)
  }
}
