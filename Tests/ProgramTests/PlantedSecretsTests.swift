import Fixtures
import Foundation
import Testing

/// Two hundred secrets of many kinds in all places that a store and its incident have for them. No bundle and no report
/// may hold one, unless somebody asks for the values.
@Suite struct PlantedSecretsTests {
  /// A place, and the secrets that stand in it.
  private struct Planted {
    var secrets: [String: [String]] = [:]

    /// New secrets for a place; each kind comes in turn.
    mutating func make(_ count: Int, _ place: String) -> [String] {
      let start = secrets.values.reduce(0) { $0 + $1.count }
      let made = (start..<start + count).map(Self.secret)
      secrets[place, default: []] += made
      return made
    }

    mutating func numbers(_ count: Int, _ place: String) -> [Int64] {
      let start = secrets.values.reduce(0) { $0 + $1.count }
      let made = (start..<start + count).map { 48_151_623_000_042 + Int64($0) * 1_000_003 }
      secrets[place, default: []] += made.map(String.init)
      return made
    }

    var all: [String] { secrets.values.flatMap { $0 } }

    /// A text, a name, a mail address, a telephone number, a token.
    private static func secret(_ number: Int) -> String {
      let mark = String(7_340_111 + number * 7919, radix: 36)
      return switch number % 5 {
      case 0: "the quarzite lantern \(mark) hums"
      case 1: "Ottoline Zwingelberg-\(mark.uppercased())"
      case 2: "o.zwingel.\(mark)@quarzite.example"
      case 3: "+49 171 \(5_550_000 + number)"
      default: "ghp_\(mark)Quarzite\(mark)Lantern\(mark)Zq"
      }
    }
  }

  private static func archive(_ text: String) throws -> [UInt8] {
    let list: [String: Any] = [
      "$version": 100_000, "$archiver": "NSKeyedArchiver", "$top": ["root": 1],
      "$objects": ["$null", ["NS.string": text, "more": [text]]],
    ]
    return [UInt8](
      try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0))
  }

  private static func quoted(_ text: String) -> String { "'\(text)'" }

  /// The cached model of the store, with secrets in user info and default values.
  private static func cache(_ planted: inout Planted, in folder: URL) throws -> (
    bytes: Data, hash: Data
  ) {
    let infos = planted.make(10, "user info")
    let defaults = planted.make(10, "default values")
    func info(_ part: ArraySlice<String>) -> String {
      let entries = part.enumerated().map { "<entry key=\"note\($0)\" value=\"\($1)\"/>" }
      return "<userInfo>\(entries.joined())</userInfo>"
    }
    let attributes = defaults.enumerated().map { index, text in
      """
      <attribute name="text\(index)" optional="YES" attributeType="String" defaultValueString="\(text)">
      \(index < 5 ? info(infos[index..<index + 1]) : "")</attribute>
      """
    }
    let model = folder.appendingPathComponent("Secrets.xcdatamodel")
    try FileManager.default.createDirectory(at: model, withIntermediateDirectories: true)
    try Data(
      """
      <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
      <entity name="Note" representedClassName="Note" syncable="YES">\(attributes.joined(separator: "\n"))
      <attribute name="number" optional="YES" attributeType="Integer 64"/>
      <attribute name="blob" optional="YES" attributeType="Binary" allowsExternalBinaryDataStorage="YES"/>
      \(info(infos[5...]))</entity></model>
      """.utf8
    ).write(to: model.appendingPathComponent("contents"))
    let cache = folder.appendingPathComponent("cache")
    let made = try Program.run("model", "convert", model.path, "--to", "cache", "-o", cache.path)
    try #require(made.status == 0, "\(made.text)\(made.errors)")
    let hashes = try Program.run("model", "hash", "--json", model.path).json()
    let hex = try #require(
      hashes["entities"]?[0]?["hash"]?.string ?? hashes["versions"]?[0]?["hashes"]?["Note"]?.string,
      "\(hashes)")
    let hash = stride(from: 0, to: 64, by: 2).compactMap {
      UInt8(hex.dropFirst($0).prefix(2), radix: 16)
    }
    return (try Data(contentsOf: cache), Data(hash))
  }

  /// Makes the store in a new folder.
  private static func store(in folder: URL, encoding: String) throws -> (URL, Planted) {
    var planted = Planted()
    let work = folder.appendingPathComponent("work")
    try FileManager.default.createDirectory(at: work, withIntermediateDirectories: true)
    let (cache, hash) = try cache(&planted, in: work)
    let made = work.appendingPathComponent("Notes.sqlite")
    let connection = try SQLiteConnection(made)
    let table = planted.make(5, "schema: table")
    let triggers = planted.make(5, "schema: trigger")
    let indexes = planted.make(5, "schema: index")
    let views = planted.make(5, "schema: view")
    let texts = (0..<10).map { "ZTEXT\($0) VARCHAR" }.joined(separator: ", ")
    try connection.exec(
      """
      PRAGMA encoding = '\(encoding)';
      PRAGMA journal_mode = WAL;
      PRAGMA wal_autocheckpoint = 0;
      PRAGMA secure_delete = OFF;
      CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE Z_MODELCACHE(Z_CONTENT BLOB);
      CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE ZNOTE(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNUMBER INTEGER, \(texts), ZBLOB BLOB);
      INSERT INTO Z_PRIMARYKEY VALUES(1, 'Note', 0, 1000);
      CREATE TABLE other(a TEXT DEFAULT \(quoted(table[0])), b TEXT CHECK (b <> \(quoted(table[1]))) /* \(table[2]) */,
        c TEXT DEFAULT \(quoted(table[3])) -- \(table[4])
      );
      """)
    for (index, text) in triggers.enumerated() {
      try connection.exec(
        "CREATE TRIGGER t\(index) AFTER INSERT ON other BEGIN UPDATE other SET c = \(quoted(text)); END"
      )
    }
    for (index, text) in indexes.enumerated() {
      try connection.exec("CREATE INDEX i\(index) ON other(a) WHERE a <> \(quoted(text))")
    }
    for (index, text) in views.enumerated() {
      try connection.exec("CREATE VIEW v\(index) AS SELECT \(quoted(text)) AS x")
    }
    let values = planted.make(10, "metadata: values")
    let nested = planted.make(10, "metadata: nested values")
    var metadata: [String: Any] = [
      "NSStoreModelVersionHashes": ["Note": hash], "NSStoreType": "SQLite",
      "NSPersistenceFrameworkVersion": 1344, "NSStoreModelVersionHashesVersion": 3,
      "NSStoreModelVersionIdentifiers": ["1"],
    ]
    for (index, text) in values.enumerated() { metadata["app.value\(index)"] = text }
    metadata["app.nested"] = ["list": Array(nested[..<5]), "more": ["deep": Array(nested[5...])]]
    let list = try PropertyListSerialization.data(
      fromPropertyList: metadata, format: .binary, options: 0)
    try connection.insert(
      "INSERT INTO Z_METADATA VALUES(1, 'A6E3F0D1-5B0C-4E0A-9C6B-7D1E2F3A4B5C', ?)",
      [[.blob([UInt8](list))]])
    try connection.insert("INSERT INTO Z_MODELCACHE VALUES(?)", [[.blob([UInt8](cache))]])
    // A dropped table first: its pages become free, and are still there, because the newest free pages are used first.
    func insert(_ texts: [String], from key: Int64) throws {
      try connection.insert(
        "INSERT INTO ZNOTE(Z_PK, Z_ENT, Z_OPT, ZTEXT0) VALUES(?, 1, 1, ?)",
        texts.enumerated().map { [.integer(key + Int64($0)), .string($1)] })
    }
    try connection.exec("CREATE TABLE gone(a TEXT); CREATE TABLE filler(a BLOB)")
    try connection.insert(
      "INSERT INTO gone VALUES(?)",
      planted.make(10, "free pages").map { [.string($0 + String(repeating: " ", count: 600))] })
    try connection.exec(
      "PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO filler VALUES(zeroblob(4000000)); DROP TABLE gone; DROP TABLE filler"
    )
    try insert(planted.make(10, "deleted rows"), from: 501)
    try connection.exec("PRAGMA wal_checkpoint(TRUNCATE)")
    let before = planted.make(10, "older versions in the log")
    try insert(before, from: 1)
    try connection.exec("UPDATE ZNOTE SET ZTEXT0 = 'something else'")
    try insert(planted.make(30, "rows: texts"), from: 101)
    try connection.insert(
      "INSERT INTO ZNOTE(Z_PK, Z_ENT, Z_OPT, ZNUMBER) VALUES(?, 1, 1, ?)",
      planted.numbers(20, "rows: numbers").enumerated().map {
        [.integer(201 + Int64($0)), .integer($1)]
      })
    var blobs: [[UInt8]] = []
    for text in planted.make(10, "blobs: property lists") {
      blobs.append(
        [UInt8](
          try PropertyListSerialization.data(
            fromPropertyList: ["a": text], format: .binary, options: 0)))
    }
    blobs += try planted.make(10, "blobs: keyed archives").map(archive)
    for text in planted.make(10, "blobs: UTF-16") {
      blobs.append([UInt8](text.data(using: .utf16LittleEndian) ?? Data()))
    }
    try connection.insert(
      "INSERT INTO ZNOTE(Z_PK, Z_ENT, Z_OPT, ZBLOB) VALUES(?, 1, 1, ?)",
      blobs.enumerated().map { [.integer(301 + Int64($0)), .blob([1] + $1)] })
    try connection.insert(
      "INSERT INTO other VALUES(?, 'b', 'c')",
      planted.make(10, "rows of another table").map { [.string($0)] })
    try connection.exec("DELETE FROM ZNOTE WHERE Z_PK > 500")
    // External data whose files have names that no app would give them.
    let store = folder.appendingPathComponent("Notes.sqlite")
    let external = folder.appendingPathComponent(".Notes_SUPPORT/_EXTERNAL_DATA")
    try FileManager.default.createDirectory(at: external, withIntermediateDirectories: true)
    let names = planted.make(10, "file names of external data")
    try connection.insert(
      "INSERT INTO ZNOTE(Z_PK, Z_ENT, Z_OPT, ZBLOB) VALUES(?, 1, 1, ?)",
      names.enumerated().map { [.integer(401 + Int64($0)), .blob([2] + $1.utf8 + [0])] })
    for name in names { try Data("x".utf8).write(to: external.appendingPathComponent(name)) }
    // Copied while it is open, so that the log stays.
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(
        at: URL(fileURLWithPath: made.path + suffix),
        to: URL(fileURLWithPath: store.path + suffix))
    }
    connection.close()
    try FileManager.default.removeItem(at: work)
    return (store, planted)
  }

  /// The incident of the store, with secrets in its record.
  private static func incident(
    _ store: URL, in folder: URL, _ planted: inout Planted
  ) throws -> URL {
    let demo = try Demonstration.shared.get()
    let incident = folder.appendingPathComponent("Incompatible").appendingPathComponent(
      demo.incident.lastPathComponent)
    let files = incident.appendingPathComponent("store")
    try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
    for name in [
      "Notes.sqlite", "Notes.sqlite-wal", ".Notes_SUPPORT",
    ] {
      try FileManager.default.copyItem(
        at: store.deletingLastPathComponent().appendingPathComponent(name),
        to: files.appendingPathComponent(name))
    }
    var record = try #require(
      try JSONSerialization.jsonObject(
        with: Data(contentsOf: demo.incident.appendingPathComponent("incident.json")))
        as? [String: Any])
    let texts = planted.make(10, "incident")
    // A token in the form of a name, such as the last kind, is a name where one is expected; the scan refuses the bundle.
    let names = texts.filter { !$0.hasPrefix("ghp_") }
    var evidence = try #require(record["evidence"] as? [String: Any])
    var failure = try #require(evidence["failure"] as? [String: Any])
    failure["chain"] = [
      ["code": 134_100, "domain": texts[0]], ["code": 1, "domain": texts[1]],
    ]
    evidence["failure"] = failure
    evidence["undecided"] = [names[2], names[3]]
    evidence["storeUUID"] = texts[4]
    evidence["recordedHashes"] = [names[5]: String(repeating: "0", count: 64)]
    record["evidence"] = evidence
    var verdict = try #require(record["verdict"] as? [String: Any])
    verdict["rule"] = texts[6]
    record["verdict"] = verdict
    record["folder"] = "/Users/\(texts[7]) \(texts[8]) \(texts[9])/Library/Incompatible/x"
    record["model"] = [
      "differing": [names[6]], "onlyInModel": [names[7]], "onlyInStore": [names[4]],
    ]
    try JSONSerialization.data(withJSONObject: record).write(
      to: incident.appendingPathComponent("incident.json"))
    return incident
  }

  // MARK: - The scanner

  /// A text as it can stand in a file.
  private static func forms(_ text: String) -> [Data] {
    let bytes = Array(text.utf8)
    let hex = bytes.map { String(format: "%02x", $0) }.joined()
    let percent = text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text
    let markup = text.replacingOccurrences(of: "@", with: "&#64;")
      .replacingOccurrences(of: "+", with: "&#43;")
    let base64 = (0..<3).map { skipped in
      Data(bytes[skipped..<skipped + (bytes.count - skipped) / 3 * 3]).base64EncodedString()
    }
    return [
      Data(bytes), text.data(using: .utf16LittleEndian) ?? Data(),
      text.data(using: .utf16BigEndian) ?? Data(),
    ]
      + ([
        hex, hex.uppercased(), percent, markup, text.replacingOccurrences(of: " ", with: "&nbsp;"),
      ]
      + base64).map { Data($0.utf8) }
  }

  /// Secrets with all their forms, which are made once.
  private struct Search {
    private let all: [(secret: String, forms: [SoughtBytes])]

    init(_ secrets: [String]) {
      all = secrets.map { ($0, PlantedSecretsTests.forms($0).map { SoughtBytes($0) }) }
    }

    /// The secrets that stand in some bytes.
    func found(in bytes: Data) -> [String] {
      all.filter { entry in entry.forms.contains { bytes.holds($0) } }.map { $0.secret }
    }
  }

  /// All files below a folder, with their names, in one piece.
  private static func everything(below folder: URL) throws -> Data {
    var bytes = Data()
    let walk = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    for case let file as URL in try #require(walk) {
      bytes += Data(file.lastPathComponent.utf8) + [0]
      bytes += (try? Data(contentsOf: file)) ?? Data()
    }
    return bytes
  }

  // MARK: - The tests

  /// What is made of which input.
  private static let bundles: [(subject: String, kind: String, options: [String])] =
    ["store", "incident"].flatMap { subject in
      [
        (subject, "structure", []), (subject, "rows", ["--include", "rows"]),
        (subject, "ranks", ["--include", "rows", "--numbers", "ranks"]),
      ]
    }

  /// Of a store in UTF-16, both inputs and each kind of bundle, and in long rounds each kind of each input.
  @Test(arguments: ["UTF-8", "UTF-16le"]) func nothingLeaves(_ encoding: String) throws {
    let place = try TemporaryFolder()
    var (store, planted) = try Self.store(
      in: place.url.appendingPathComponent("a"), encoding: encoding)
    let incident = try Self.incident(store, in: place.url.appendingPathComponent("b"), &planted)
    let secrets = planted.all
    #expect(secrets.count >= 200 && Set(secrets).count == secrets.count)
    // They are where they were put: numbers are in no text, and a cached model is compressed.
    let search = Search(secrets)
    let there = Set(search.found(in: try Self.everything(below: place.url)))
    let model = try Program.run("model", "show", store.path).stdout
    for (name, texts) in planted.secrets where !name.hasSuffix("numbers") {
      let isOfModel = ["user info", "default values"].contains(name)
      let missing =
        isOfModel
        ? Set(texts).subtracting(Search(texts).found(in: model)) : Set(texts).subtracting(there)
      #expect(missing == [], "\(name)")
    }
    let out = place.url.appendingPathComponent("out")
    try FileManager.default.createDirectory(at: out, withIntermediateDirectories: false)
    func path(_ name: String) -> String { out.appendingPathComponent(name).path }
    let inputs = ["store": store.path, "incident": incident.path]
    let bundles = Rounds.part(of: Self.bundles, every: encoding == "UTF-8" ? 1 : 2)
    for (subject, kind, options) in bundles {
      let bundle = path("\(subject)-\(kind).zip")
      let input = try #require(inputs[subject])
      let made = try Program.run(["bundle", "create", input, "-o", bundle] + options)
      #expect(made.status < 2, "\(subject) \(kind): \(made.errors)")
      guard made.status < 2 else { continue }
      for (entry, bytes) in try BundleTests.unpack(URL(fileURLWithPath: bundle)) {
        #expect(search.found(in: bytes) == [], "\(subject) \(kind): \(entry)")
      }
      #expect(search.found(in: made.stdout + made.stderr) == [])
      try expectNothing(of: search, inReportOn: bundle, path("\(subject)-\(kind).html"))
    }
    for (subject, input) in inputs {
      try expectNothing(of: search, inReportOn: input, path("\(subject).html"))
    }
    // The stricter copies of bundles that hold everything.
    for (kind, options) in [
      ("store", ["--include", "store"]), ("plain", ["--include", "rows", "--redact", "none"]),
    ] {
      let made = try Program.run(
        ["bundle", "create", store.path, "-o", path("\(kind).zip")] + options)
      #expect(made.status < 2, "\(made.errors)")
      let whole = try BundleTests.unpack(URL(fileURLWithPath: path("\(kind).zip")))
      #expect(whole.values.contains { search.found(in: $0).count >= 40 })
      let copy = try Program.run(
        "bundle", "redact", path("\(kind).zip"), "-o", path("\(kind)-copy.zip"))
      #expect(copy.status < 2, "\(kind): \(copy.errors)")
      for (entry, bytes) in try BundleTests.unpack(URL(fileURLWithPath: path("\(kind)-copy.zip"))) {
        #expect(search.found(in: bytes) == [], "\(kind): \(entry)")
      }
    }
  }

  private func expectNothing(
    of search: Search, inReportOn input: String, _ page: String
  ) throws {
    let made = try Program.run("report", input, "-o", page)
    #expect(made.status == 0, "\(made.errors)")
    guard made.status == 0 else { return }
    let found = search.found(in: try Data(contentsOf: URL(fileURLWithPath: page)))
    #expect(found == [], "the report on \(input)")
  }
}
