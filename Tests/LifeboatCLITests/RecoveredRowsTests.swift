import SQLiteFile
import Testing

@testable import LifeboatCLI
@testable import SQLiteForensics

/// What is said of recovered rows.
@Suite struct RecoveredRowsTests {
  @Test func oneIsNotMany() {
    #expect(
      RecoveredRows.leftOut(1)
        == "note: 1 row whose table is not certain is left out; --raw shows it")
    #expect(
      RecoveredRows.leftOut(1200)
        == "note: 1,200 rows whose table is not certain are left out; --raw shows them")
    #expect(RecoveredRows.leftOut(0) == nil)
    func said(_ have: Int, _ of: Int, isDoubtful: Bool) -> String? {
      let value = PartialValue(column: 0, have: have, of: of, isDoubtful: isDoubtful, bytes: [])
      let row = RecoveredRow(origin: RowOrigin(), rowID: 1, values: [.null], partial: [value])
      return RecoveredRows.partial(row, 0)
    }
    #expect(said(0, 1, isDoubtful: false) == "(0 of 1 byte)")
    #expect(said(1, 1, isDoubtful: true) == "(1 byte, in doubt)")
    #expect(said(1, 2, isDoubtful: true) == "(1 of 2 bytes, the rest in doubt)")
  }
}
