import Fixtures
import Foundation
import Testing

/// What a bundle gives away. Each secret is a text that begins with `zq` and stands in one place where a user's
/// text can stand.
@Suite struct BundlePrivacyTests {
  private static let secrets = [
    "zq table", "zq column", "zq default", "zqdefaultword", "zq check", "zq comment", "zq blob",
    "zq where", "zqwhereword", "zq view", "zq trigger", "zq uuid", "zq digest", "zq checksum",
    "zq identifier", "zq entity", "zq key", "zq value", "zq primary", "zq file", "zq store",
    "zq row",
    "zq statement", "zq \"fol\\d/er", "zq user", "zq reason", "zq süd 東",
  ]

  /// A store with a secret in each place, in a folder whose name needs every escape there is.
  private static func store(in place: URL) throws -> URL {
    let folder = place.appendingPathComponent("zq \"fol\\d").appendingPathComponent("er zq süd 東")
    let external = folder.appendingPathComponent(".zq store_SUPPORT/_EXTERNAL_DATA")
    try FileManager.default.createDirectory(at: external, withIntermediateDirectories: true)
    try Data("zq row".utf8).write(to: external.appendingPathComponent("zq file"))
    let store = folder.appendingPathComponent("zq store.sqlite")
    let connection = try SQLiteConnection(store)
    try connection.exec(
      """
      CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE ZNOTE(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTITLE VARCHAR);
      INSERT INTO Z_PRIMARYKEY VALUES(1, 'zq primary', 0, 1), (2, 'Note', 0, 1);
      INSERT INTO ZNOTE VALUES(1, 1, 1, 'zq row');
      CREATE TABLE "zq table"("zq column" TEXT DEFAULT 'zq default', other TEXT DEFAULT "zqdefaultword", \
      third TEXT CHECK (third <> 'zq check') /* zq comment */, fourth BLOB DEFAULT x'7a7120626c6f62');
      INSERT INTO "zq table"(other) VALUES('zq row');
      CREATE INDEX plain ON "zq table"(other) WHERE other <> 'zq where' AND third <> "zqwhereword";
      CREATE VIEW shown AS SELECT 'zq view' FROM ZNOTE -- zq comment
      ;
      CREATE TRIGGER fires AFTER INSERT ON ZNOTE BEGIN UPDATE ZNOTE SET ZTITLE = 'zq trigger'; END;
      CREATE TRIGGER says AFTER DELETE ON ZNOTE BEGIN SELECT zqword AS zqalias FROM zqnowhere; END;
      """)
    let metadata: [String: Any] = [
      "NSStoreModelVersionHashes": ["zq entity": Data(repeating: 7, count: 32)],
      "NSStoreModelVersionHashesDigest": "zq digest",
      "NSStoreModelVersionChecksumKey": "zq checksum",
      "NSStoreModelVersionIdentifiers": ["zq identifier"], "NSStoreType": "SQLite",
      "NSPersistenceFrameworkVersion": 1344, "NSStoreModelVersionHashesVersion": 3,
      "zq key": "zq value",
    ]
    let list = try PropertyListSerialization.data(
      fromPropertyList: metadata, format: .binary, options: 0)
    try connection.insert(
      "INSERT INTO Z_METADATA VALUES(1, ?, ?)", [[.string("zq uuid"), .blob([UInt8](list))]])
    // A pointer of the schema that leads to a row looks like this.
    try connection.exec(
      """
      PRAGMA writable_schema = ON;
      INSERT INTO sqlite_schema VALUES('table', 'zq row', 'zq row', 2, 'my diary: zq statement');
      INSERT INTO sqlite_schema VALUES('zq row', 'x', 'zq row', 2, 'CREATE TABLE x(zq)');
      """)
    connection.close()
    return store
  }

  /// No secret in any form in any entry but the named ones.
  private static func expectNoSecrets(
    _ entries: [String: Data], _ more: [String] = []
  ) {
    for (name, data) in entries {
      for secret in ["zq"] + more {
        for form in [Data(secret.utf8)]
          + [.utf16LittleEndian, .utf16BigEndian].map({
            secret.data(using: $0) ?? Data()
          })
        {
          #expect(!data.holds(form), "\(secret) is in \(name)")
        }
      }
      for secret in secrets {
        let bytes = Array(secret.utf8)
        let escaped = secret.utf16.map { String(format: "\\u%04x", $0) }.joined()
        // At each of the three places that base64 can begin in.
        let base64 = (0..<3).map { skipped in
          let whole = (bytes.count - skipped) / 3 * 3
          return Data(bytes[skipped..<skipped + whole]).base64EncodedString()
        }
        let hex = bytes.map { String(format: "%02x", $0) }.joined()
        for form in base64 + [escaped, hex, hex.uppercased()] where form.utf8.count > 7 {
          #expect(!data.holds(form), "\(form) is in \(name)")
        }
      }
    }
  }

  @Test(arguments: ["structure", "rows"])
  func nothingOfTheUserLeavesByItself(_ include: String) throws {
    let place = try TemporaryFolder()
    let store = try Self.store(in: place.url)
    let (folder, bundle, outcome) = try BundleTests.create(store, "--include", include)
    defer { withExtendedLifetime(folder) {} }
    #expect(outcome.status == 1, "\(outcome.errors)")
    let entries = try BundleTests.unpack(bundle)
    #expect(entries["schema.sql"]?.isEmpty == false)
    #expect((entries["rows.ndjson"] != nil) == (include == "rows"))
    Self.expectNoSecrets(entries, [place.url.lastPathComponent])
    #expect(try Program.run("bundle", "verify", bundle.path).status == 0)

    // What support needs is there all the same, and the tokens are told.
    let schema = String(decoding: try #require(entries["schema.sql"]), as: UTF8.self)
    #expect(schema.contains("CREATE TABLE ZNOTE(Z_PK INTEGER PRIMARY KEY"))
    #expect(schema.contains("CREATE TRIGGER fires"))
    #expect(!schema.contains("diary"))
    let manifest = try #require(try outcome.json()["manifest"])
    let withheld = manifest["withheld"]?.array?.compactMap(\.string).joined(separator: "\n") ?? ""
    #expect(withheld.contains("name-1"))
    #expect(withheld.contains("not a known CREATE statement: 2"))
    // One name is one token in all records.
    let hashes = try JSONDecoder().decode(JSON.self, from: try #require(entries["hashes.json"]))
    let metadata = try JSONDecoder().decode(JSON.self, from: try #require(entries["metadata.json"]))
    #expect(hashes["hashes"] == metadata["versionHashes"])
    #expect(hashes["digest"] == metadata["digest"])
    #expect(metadata["uuid"]?.string?.hasPrefix("name-") == true)
  }

  /// A bundle of the store's files does not say that it lacks the names that are in them.
  @Test func theFilesKeepTheNamesThatRecordsLack() throws {
    let place = try TemporaryFolder()
    let store = try Self.store(in: place.url)
    let (folder, bundle, outcome) = try BundleTests.create(store, "--include", "store")
    defer { withExtendedLifetime(folder) {} }
    let withheld = try outcome.json()["manifest"]?["withheld"]?.array?.compactMap(\.string) ?? []
    let names = withheld.filter { $0.hasPrefix("Unusual names (") }
    #expect(!names.isEmpty)
    for sentence in names {
      #expect(
        sentence.contains(
          " in the records only, because the store's own files have these names"))
    }
    #expect(try BundleTests.unpack(bundle)["store/" + store.lastPathComponent] != nil)
  }

  @Test func aRecordWithSecretsIsPackedWithoutThem() throws {
    let demo = try Demonstration.shared.get()
    let place = try TemporaryFolder()
    let home = place.url.appendingPathComponent("zq \"fol\\d")
    let incompatible = home.appendingPathComponent("Incompatible")
    try FileManager.default.createDirectory(at: incompatible, withIntermediateDirectories: true)
    let incident = incompatible.appendingPathComponent(demo.incident.lastPathComponent)
    try FileManager.default.copyItem(at: demo.incident, to: incident)
    let file = incident.appendingPathComponent("incident.json")
    var record = try #require(
      try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
    record["folder"] = "/Users/zq user/Library/Incompatible/2026-01-01-00-00-00Z"
    record["storeUUID"] = "zq uuid"
    var notice = try #require(record["notice"] as? [String: Any])
    notice["whatWasKept"] =
      "It is in /Users/zq user/Library/Incompatible/2026-01-01-00-00-00Z/store."
    notice["whatToDo"] = "Look at /Users/zq user/Library, then at \(incident.path) and zq entity."
    record["notice"] = notice
    var evidence = try #require(record["evidence"] as? [String: Any])
    evidence["undecided"] = ["zq entity", "Note"]
    evidence["storeUUID"] = "zq uuid"
    record["evidence"] = evidence
    var verdict = try #require(record["verdict"] as? [String: Any])
    verdict["rule"] = "zq rule"
    record["verdict"] = verdict
    try JSONSerialization.data(withJSONObject: record).write(to: file)

    let (folder, bundle, outcome) = try BundleTests.create(incident)
    defer { withExtendedLifetime(folder) {} }
    #expect(outcome.status == 0, "\(outcome.errors)")
    let entries = try BundleTests.unpack(bundle)
    Self.expectNoSecrets(entries, [place.url.lastPathComponent])
    let packed = try JSONDecoder().decode(JSON.self, from: try #require(entries["incident.json"]))
    #expect(packed["storeUUID"] == packed["evidence"]?["storeUUID"])
    #expect(packed["notice"]?["whatWasKept"]?.string == "It is in store.")

    // With the files of the store: they do not have what only the record has.
    let (other, _, whole) = try BundleTests.create(incident, "--include", "store")
    defer { withExtendedLifetime(other) {} }
    let withheld = try whole.json()["manifest"]?["withheld"]?.array?.compactMap(\.string) ?? []
    let ofTheRecord = withheld.filter { $0.hasPrefix("Unusual names (the store's UUID)") }
    #expect(
      ofTheRecord.count == 1 && !ofTheRecord.joined().contains("in the records only"), "\(withheld)"
    )
  }

  /// A record of ours has no text that nobody has thought about.
  @Test func everyTextOfOurRecordsHasARule() throws {
    let demo = try Demonstration.shared.get()
    for input in [demo.kept, demo.incident] {
      let (folder, _, outcome) = try BundleTests.create(input)
      defer { withExtendedLifetime(folder) {} }
      let withheld = try outcome.json()["manifest"]?["withheld"]?.array?.compactMap(\.string) ?? []
      #expect(!withheld.contains { $0.contains("name-") }, "\(withheld)")
    }
  }

  /// What strangers found: names in records that come before the schema, row ids that are values, and what tells one
  /// external file from others.
  @Test func recordsTellNoMoreThanTheSchema() throws {
    let place = try TemporaryFolder()
    let url = place.url.appendingPathComponent("anna-zq-divorce.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE p(number INTEGER PRIMARY KEY, "Anna zq 0170-555" TEXT);
      INSERT INTO p VALUES(4917012340231, CAST(x'fffe41' AS TEXT));
      CREATE INDEX "cheques of Mr zq" ON p("Anna zq 0170-555");
      """)
    connection.close()
    let (folder, bundle, outcome) = try BundleTests.create(url)
    defer { withExtendedLifetime(folder) {} }
    #expect(outcome.status < 2, "\(outcome.errors)")
    for (name, data) in try BundleTests.unpack(bundle) {
      for secret in ["zq", "4917012340231", "Anna", "cheques"] {
        #expect(!data.holds(secret), "\(secret) is in \(name)")
      }
    }

    let demo = try Demonstration.shared.get()
    let (other, packed, _) = try BundleTests.create(demo.incident)
    defer { withExtendedLifetime(other) {} }
    let external = demo.kept.deletingLastPathComponent()
      .appendingPathComponent(".Notes_SUPPORT/_EXTERNAL_DATA")
    let names = try FileManager.default.contentsOfDirectory(atPath: external.path)
    #expect(!names.isEmpty)
    for name in names {
      let content = try Data(contentsOf: external.appendingPathComponent(name))
      for (entry, data) in try BundleTests.unpack(packed) {
        #expect(!data.holds(hex(of: content)), "\(entry)")
        #expect(!data.holds(" \(content.count)"), "\(entry)")
      }
    }
  }

  /// Not only Core Data puts files into the folder of external files, and the hash of a link is that of its path.
  @Test func filesBelowTheFolderAndLinksLeaveNoHash() throws {
    let demo = try Demonstration()
    let content = Data(repeating: 7, count: 7771)
    let support = demo.kept.deletingLastPathComponent().appendingPathComponent(".Notes_SUPPORT")
    try content.write(to: support.appendingPathComponent("passport.jpg"))

    let record = demo.incident.appendingPathComponent("incident.json")
    let target = hex(of: Data("/Users/anna/Notes_SUPPORT".utf8))
    var incident = try #require(
      JSONSerialization.jsonObject(with: Data(contentsOf: record)) as? [String: Any])
    var seal = try #require(incident["seal"] as? [String: Any])
    var files = try #require(seal["files"] as? [[String: Any]])
    files.append([
      "name": ".Notes_SUPPORT", "role": "support", "kind": "symbolicLink", "sizeBytes": 0,
      "sha256": target, "modifiedNanoseconds": 1, "inode": 1,
    ])
    seal["files"] = files
    incident["seal"] = seal
    try FileManager.default.removeItem(at: record)
    try JSONSerialization.data(withJSONObject: incident).write(to: record)

    let (folder, bundle, outcome) = try BundleTests.create(demo.incident)
    defer { withExtendedLifetime(folder) {} }
    #expect(outcome.status < 2, "\(outcome.errors)")
    let entries = try BundleTests.unpack(bundle)
    #expect(entries["incident.json"]?.holds("symbolicLink") == true)
    for (name, data) in entries {
      for secret in ["passport", hex(of: content), "sizeBytes\" : 7771", target] {
        #expect(!data.holds(secret), "\(secret) is in \(name)")
      }
    }
  }

  /// A rounded size says that it is rounded, and no record has an inode number, which identifies the user's volume.
  @Test func recordsSayWhatIsRounded() throws {
    let demo = try Demonstration()
    let content = Data(repeating: 7, count: 7771)
    let support = demo.kept.deletingLastPathComponent().appendingPathComponent(".Notes_SUPPORT")
    try content.write(to: support.appendingPathComponent("passport.jpg"))
    let onDisk = try Data(contentsOf: demo.incident.appendingPathComponent("incident.json"))
    #expect(onDisk.holds("\"inode\"") && !onDisk.holds("isSizeApproximate"))

    let (folder, bundle, outcome) = try BundleTests.create(demo.incident)
    defer { withExtendedLifetime(folder) {} }
    #expect(outcome.status < 2, "\(outcome.errors)")
    let withheld = try outcome.json()["manifest"]?["withheld"]?.strings ?? []
    #expect(withheld.contains { $0.contains("rounded down to a power of two") }, "\(withheld)")
    let entries = try BundleTests.unpack(bundle)
    for (name, data) in entries { #expect(!data.holds("inode"), "\(name)") }

    let decoder = JSONDecoder()
    let inspection = try decoder.decode(JSON.self, from: #require(entries["inspection.json"]))
    let incident = try decoder.decode(JSON.self, from: #require(entries["incident.json"]))
    for files in [inspection["members"]?.array, incident["seal"]?["files"]?.array] {
      let files = try #require(files)
      var approximate = 0
      for file in files {
        let isBelow = try #require(file["name"]?.string).contains("/")
        let size = try #require(file["sizeBytes"]?.integer)
        if isBelow, size > 0 {
          approximate += 1
          #expect(file["isSizeApproximate"]?.boolean == true && size.nonzeroBitCount == 1)
          #expect(file["modifiedNanoseconds"] == nil && file["sha256"] == nil)
        } else {
          #expect(file["isSizeApproximate"] == nil)
        }
      }
      #expect(approximate > 0)
    }
    let passport = inspection["members"]?.array?.compactMap { $0["sizeBytes"]?.integer }
    #expect(passport?.contains(4096) == true)

    // The records are still read.
    let shown = try Program.run("bundle", "show", "--json", bundle.path)
    #expect(shown.status == 0, "\(shown.errors)")
    let seal = try shown.json()["incident"]?["seal"]?["files"]?.array ?? []
    #expect(seal.contains { $0["isSizeApproximate"]?.boolean == true })
    let screen = try Program.run("bundle", "show", "-v", bundle.path)
    #expect(screen.text.contains("at least 4.1 kB, sha256 not in the bundle"), "\(screen.text)")
  }

  // MARK: - Found

  @Test(.enabled(if: Shared.isThere)) func aSchemaThatLeadsToRowsTellsNone() throws {
    guard let hostile = try HostileFiles("a schema that leads to rows") else { return }
    for include in ["structure", "rows"] {
      let (folder, bundle, outcome) = try BundleTests.create(
        hostile["schema-points-to-rows.sqlite"], "--include", include)
      defer { withExtendedLifetime(folder) {} }
      #expect(outcome.status < 2, "\(outcome.errors)")
      for (name, data) in try BundleTests.unpack(bundle) {
        for secret in ["SECRETROW", "diary", "notetitle"] {
          #expect(!data.holds(secret), "\(secret) is in \(name)")
        }
      }
    }
  }

  @Test(.enabled(if: Shared.isThere), arguments: ["slip.zip", "bundle-slip-verifies-intact.zip"])
  func namesThatLeadOutAreRefused(_ name: String) throws {
    guard let hostile = try HostileFiles("names that lead out") else { return }
    for command in [["model", "show"], ["bundle", "verify"], ["bundle", "list"]] {
      let outcome = try Program.run(command + [hostile[name].path])
      #expect(outcome.status == 65, "\(command): \(outcome.text)")
      #expect((outcome.text + outcome.errors).contains("(bundle.badName)"), "\(command)")
    }
  }

  @Test(
    .enabled(if: Shared.isThere),
    arguments: ["manifest-bomb-55kB.zip", "hashes-bomb-58kB.zip", "disk-1GiB-from-1MB.zip"])
  func bombsAreRefused(_ name: String) throws {
    guard let hostile = try HostileFiles("bombs") else { return }
    for command in [["model", "show"], ["bundle", "verify"], ["bundle", "list"]] {
      let outcome = try Program.run(command + [hostile[name].path])
      #expect(outcome.status == 65, "\(command): \(outcome.text)")
      if command[0] == "model", !name.hasPrefix("manifest") {
        #expect(outcome.errorCode == "bundle.tooLarge", "\(command): \(outcome.errors)")
        #expect(outcome.errors.contains("hint:"))
      }
    }
  }

  @Test(.enabled(if: Shared.isThere)) func whatTheManifestHidesIsListed() throws {
    guard let hostile = try HostileFiles("a manifest that hides a store") else { return }
    let path = hostile["list-hides-store.zip"].path
    let outcome = try Program.run("bundle", "list", path)
    #expect(outcome.status == 1)
    #expect(outcome.text.contains("store/secret.sqlite"))
    #expect(outcome.text.contains("bundle.entryUnlisted"))
    let json = try Program.run("bundle", "list", "--json", path).json()
    #expect(json["archive"]?.array?.count == 2)
    #expect(json["problems"]?.array?.first?["id"]?.string == "bundle.entryUnlisted")
  }
}
