import Foundation
import ModelTools
import ObjectModel
import Testing

@testable import SupportBundle

/// Stricter copies of bundles that were made by hand, and are consistent.
@Suite struct BundleCopyTests {
  /// Copies a bundle of these entries.
  private static func copy(
    _ entries: [(String, String)], _ space: Workspace, allowing list: String = "",
    of entities: [String]? = nil
  ) throws -> BundleCopy {
    let bundle = space.path("in.zip")
    var plan = try BundlePlan(
      tool: .init(name: "t", version: "1"), created: BundleDate(secondsSince1970: 0),
      contents: .rows)
    for (name, text) in entries {
      try plan.add(name: name, source: .bytes(Array(text.utf8)), origin: "x", why: "x")
    }
    _ = try plan.measured().write(to: bundle)
    let unpacked = try UnpackedBundle(BundleFile(bundle), making: { _ = $1() })
    var request = try BundleRequest(.rows)
    request.entities = entities
    if !list.isEmpty { request.redaction = .values(except: try AllowList(Array(list.utf8))) }
    return try request.copy(of: unpacked, to: space.path("out.zip"))
  }

  /// The rows of the copy.
  private static func rows(_ space: Workspace) throws -> String {
    let reader = try ZipReader(path: space.path("out.zip"))
    let entry = try #require(reader.entry(named: "rows.ndjson"))
    return String(decoding: try reader.bytes(of: entry, limit: 1 << 20), as: UTF8.self)
  }

  private static let row =
    #"{"entity":"Note","pk":1,"values":{"title":"milk, bread, something for Grandma"}}"# + "\n"

  /// A record that holds a text of a row, rows in another form, and tokens that hide nothing.
  @Test(arguments: [
    (("incident.txt", "the note: milk, bread, something for Grandma"), row, "bundle.residue"),
    (("counts.json", "{}"), row + "[1]\n", "bundle.badRecord"),
    (("counts.json", "{}"), row + "{\"entity\":1}\n", "bundle.badRecord"),
    (("counts.json", "{}"), String(repeating: "[", count: 100_000) + "\n", "bundle.badRecord"),
    (
      ("counts.json", "{}"),
      #"{"entity":"Tag","pk":1,"values":{"a":{"text":"0123456789abcdef","script":"Shopping list"}}}"#,
      "bundle.residue"
    ),
    (
      ("counts.json", "{}"), #"{"entity":"Tag","pk":1,"values":{"a":{"date":"in spring"}}}"#,
      "bundle.residue"
    ),
    // A row with a number that Foundation does not read.
    (
      ("incident.txt", "the note: zanzibar lantern of quarzite"),
      #"{"table":"t","rowid":1,"values":[9e999,"zanzibar lantern of quarzite"]}"# + "\n",
      "bundle.residue"
    ),
    // The key of the value is the name of an attribute, not that of the name of an entity.
    (
      ("incident.txt", "the note: zanzibar lantern of quarzite"),
      #"{"entity":"Tag","pk":1,"values":{"entity":"zanzibar lantern of quarzite"}}"# + "\n",
      "bundle.residue"
    ),
    // A name that gets a token has it everywhere.
    (
      ("counts.json", #"{"counts":"the list of Grandma"}"#),
      #"{"entity":"the list of Grandma","pk":1,"values":{}}"#, "bundle.residue"
    ),
  ])
  func whatDoesNotFitIsRefused(
    _ record: (String, String), _ rows: String, _ code: String
  ) throws {
    let space = try Workspace()
    let error = #expect(throws: BundleError.self) {
      _ = try Self.copy([record, ("rows.ndjson", rows)], space)
    }
    #expect(error?.code.rawValue == code)
    #expect(!FileManager.default.fileExists(atPath: space.path("out.zip")))
  }

  /// A permission for an entity is not meant for a table of the same name.
  @Test func aTableOfAnEntitysNameIsNotAllowed() throws {
    let space = try Workspace()
    let table = #"{"table":"Note","rowid":1,"values":["zanzibar lantern","quarzite lantern"]}"#
    _ = try Self.copy(
      [("counts.json", "{}"), ("rows.ndjson", Self.row + table + "\n")], space,
      allowing: "lifeboat-allow 1\nNote.*\nNote.c0\n")
    let rows = try Self.rows(space)
    #expect(rows.contains("something for Grandma"))
    #expect(!rows.contains("lantern"), "\(rows)")
  }

  /// Who asks for an entity gets the rows of its subentities, as in a new bundle.
  @Test func rowsOfSubentitiesStay() throws {
    let space = try Workspace()
    let model = ManagedObjectModel(entities: [
      Entity(name: "Item", isAbstract: true), Entity(name: "Note", superentityName: "Item"),
      Entity(name: "Tag"),
    ])
    let contents = String(decoding: model.contentsXML().bytes, as: UTF8.self)
    let tag = #"{"entity":"Tag","pk":1,"values":{"name":"quarzite"}}"# + "\n"
    let entries = [("model.xcdatamodel/contents", contents), ("rows.ndjson", Self.row + tag)]
    let copy = try Self.copy(entries, space, of: ["Item"])
    #expect(
      copy.removed.contains("Rows left out because their entities were not asked for: 1."),
      "\(copy.removed)")
    let rows = try Self.rows(space)
    #expect(rows.hasPrefix(#"{"entity":"Note","pk":1,"#) && !rows.contains("Tag"), "\(rows)")
    let other = try Workspace()
    let error = #expect(throws: BundleError.self) {
      _ = try Self.copy(entries, other, of: ["Items"])
    }
    #expect(error?.code == .unknownName)
  }

  /// Rows have infinite numbers as `9e999`, which Foundation does not read.
  @Test func infiniteNumbers() throws {
    let space = try Workspace()
    let table =
      #"{"table":"t","rowid":1,"values":[9e999,-9e999,-9e999,"\"9e999, lantern","\\",9e999]}"#
    _ = try Self.copy(
      [("counts.json", "{}"), ("rows.ndjson", table + "\n")], space,
      allowing: "lifeboat-allow 1\nt.c0\nt.c1\nt.c3\n")
    let rows = try Self.rows(space)
    #expect(rows.contains(#""c0":9e999,"c1":-9e999,"c2":{"real":""#), "\(rows)")
    #expect(
      rows.contains(#""range":"-1e308..-infinite"},"c3":"\"9e999, lantern","c4":{"text":""#),
      "\(rows)")
    #expect(rows.contains(#""range":"1e308..infinite"}}}"#), "\(rows)")
  }

  /// A row that is too long is not one in another form.
  @Test func aRowThatIsTooLong() throws {
    let space = try Workspace()
    let path = space.path("rows.ndjson")
    try Data(Self.row.utf8).write(to: URL(fileURLWithPath: path))
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    // The rest of the file is a hole.
    try file.truncate(atOffset: 65 << 20)
    try file.close()
    var count = 0
    let error = #expect(throws: BundleError.self) {
      try RowLines.forEach(at: path) { _ in
        count += 1
        return true
      }
    }
    #expect(count == 1 && error?.code == .badRecord)
    #expect(error?.message.contains("64 MiB") == true, "\(error?.message ?? "")")
  }

  /// A copy has no more about files than a new bundle, also when the first bundle has.
  @Test func tracesOfFilesAreLeftOut() throws {
    let space = try Workspace()
    let record = #"{"seal":{"files":[{"name":"a/b","sizeBytes":7771,"inode":4321,"sha256":"x"}]}}"#
    let copy = try Self.copy([("incident.json", record), ("rows.ndjson", Self.row)], space)
    #expect(
      copy.removed.contains { $0.hasPrefix("In incident.json, inode numbers") }, "\(copy.removed)")
    let reader = try ZipReader(path: space.path("out.zip"))
    let entry = try #require(reader.entry(named: "incident.json"))
    let text = String(decoding: try reader.bytes(of: entry, limit: 1 << 20), as: UTF8.self)
    #expect(text.contains("4096") && text.contains("isSizeApproximate"), "\(text)")
    for word in ["inode", "sha256", "7771"] { #expect(!text.contains(word), "\(text)") }
    // A record that tells nothing of the kind is copied to the byte.
    let other = try Workspace()
    let plain = #"{ "seal" : {} }"#
    let same = try Self.copy([("incident.json", plain), ("rows.ndjson", Self.row)], other)
    #expect(!same.removed.contains { $0.contains("inode numbers") })
    let copied = try ZipReader(path: other.path("out.zip"))
    let unchanged = try copied.bytes(
      of: #require(copied.entry(named: "incident.json")), limit: 1 << 20)
    #expect(String(decoding: unchanged, as: UTF8.self) == plain)
  }

  /// An entry that no version writes is left out, and said.
  @Test func nothingElseGetsIn() throws {
    let space = try Workspace()
    let copy = try Self.copy(
      [
        ("counts.json", "{}"), ("notes.txt", "Shopping list of Grandma"), ("rows.ndjson", Self.row),
      ],
      space)
    #expect(copy.receipt.manifest.entries.map(\.name) == ["counts.json", "rows.ndjson"])
    #expect(copy.removed.contains { $0.hasPrefix("\"notes.txt\"") })
    #expect(copy.removed.contains("Values of rows, each replaced by a token: 1."))
    #expect(try BundleVerification.verify(path: space.path("out.zip")).outcome == .intact)
  }
}
