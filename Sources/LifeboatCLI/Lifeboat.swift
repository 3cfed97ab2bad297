import ArgumentParser
import SQLiteFile
@main struct Lifeboat: ParsableCommand {
  @Argument var file: String
  mutating func run() throws {
    let db = try SQLiteDatabase(path: file)
    _ = try db.writeNDJSON(of: db.schema.tables, to: 1)
    for f in db.findings.kept { print(f) }
  }
}
