import Crypto
import Fixtures
import Foundation
import Testing

@testable import SupportBundle

@Suite struct BundleTests {
  private static let smallEntries: [(name: String, bytes: [UInt8])] = [
    ("report.json", Array("{\"verdict\": \"corrupt\"}\n".utf8)),
    ("findings.ndjson", Array(String(repeating: "{\"id\":\"page.badType\"}\n", count: 20).utf8)),
    ("store/few", [1, 2, 3]),
  ]

  private func verify(
    _ path: String, threshold: Zip64Threshold = Zip64Threshold()
  ) throws -> BundleVerification {
    try BundleVerification.verify(
      InputFile(path: path, followsLink: true), threshold: threshold)
  }

  // MARK: - Writing

  @Test func manifestComesFirstAndListsEverything() throws {
    let space = try Workspace()
    let path = space.path("a.zip")
    var plan = try Sample.plan()
    let file = try space.write(Sample.text, to: "on-disk")
    try plan.add(name: "on-disk", source: .file(path: file), origin: "store set", why: "asked for")
    var reported: [UInt64] = []
    let measured = try plan.measured()
    let receipt = try measured.write(to: path) { done, total in
      reported.append(done)
      #expect(total == measured.totalBytes)
    }
    #expect(reported.last == measured.totalBytes)
    #expect(
      receipt.entries.map(\.name) == ["manifest.json"] + measured.manifest.entries.map(\.name))

    let reader = try ZipReader(path: path)
    #expect(reader.entries[0].name == "manifest.json")
    #expect(reader.entries[0].headerOffset == 0)
    let manifest = try BundleManifest(json: reader.bytes(of: reader.entries[0], limit: 1_000_000))
    #expect(manifest == measured.manifest)
    #expect(manifest.entries.last?.source == "store set")
    #expect(manifest.entries.last?.sha256 == SHA256.hash(data: Sample.text).hex)

    let result = try verify(path)
    #expect(result.problems.isEmpty)
    #expect(result.outcome == .intact)
    #expect(result.intactEntryCount == Sample.entries().count + 1)
  }

  @Test func manifestGolden() throws {
    let plan = try Sample.plan([("empty", [])])
    let json = String(decoding: try plan.measured().manifest.json(), as: UTF8.self)
    // JSONEncoder of other platforms writes the same keys with other spaces.
    #expect(
      json.filter { !$0.isWhitespace } == """
        {"contents":"structure","created":"2026-11-20T21:53:07.000Z","entries":[{"name":"empty",\
        "sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","sizeBytes":0,\
        "source":"memory","why":"forthetest"}],"schema":"lifeboat.bundle",\
        "tool":{"name":"lifeboat","version":"0.1.0"},"version":1,"withheld":["valuesofrows"]}
        """)
    #expect(json.hasSuffix("}\n"))
    #expect(json.contains("\n  \"contents\""))
  }

  @Test func samePlanGivesTheSameBytes() throws {
    let space = try Workspace()
    for name in ["a.zip", "b.zip"] {
      _ = try Sample.plan().measured().write(to: space.path(name))
    }
    #expect(try space.read("a.zip") == space.read("b.zip"))
  }

  @Test func otherToolsOpenBundles() throws {
    let space = try Workspace()
    let path = space.path("a.zip")
    _ = try Sample.plan().measured().write(to: path)
    if let unzip = Tool("unzip") { #expect(try unzip.run(["-t", path]).status == 0) }
    if let python = Tool("python3") {
      let script = """
        import hashlib, json, sys, zipfile
        z = zipfile.ZipFile(sys.argv[1])
        assert z.namelist()[0] == 'manifest.json'
        m = json.loads(z.read('manifest.json'))
        assert [e['name'] for e in m['entries']] == z.namelist()[1:]
        for e in m['entries']:
            b = z.read(e['name'])
            assert len(b) == e['sizeBytes'] and hashlib.sha256(b).hexdigest() == e['sha256']
        raw = open(sys.argv[1], 'rb').read()
        end = len(raw) - 22 - len(z.comment)
        assert z.comment.decode() == 'lifeboat.bundle/1 sha256:' + hashlib.sha256(raw[:end]).hexdigest()
        """
      let result = try python.run(["-X", "utf8", "-c", script, path])
      #expect(result.status == 0, "\(result.output)")
    }
  }

  enum Change: CaseIterable, Sendable { case content, growth, cut, removal, link }

  @Test(arguments: Change.allCases)
  func aSourceThatChangesBetweenThePassesStopsTheWork(_ change: Change) throws {
    let space = try Workspace()
    let file = try space.write(Sample.text, to: "file")
    var plan = try Sample.plan(Self.smallEntries)
    try plan.add(name: "file", source: .file(path: file), origin: "x", why: "y")
    let measured = try plan.measured()
    var expected = BundleError.Code.changedWhileReading
    switch change {
    case .content:
      var bytes = Sample.text
      bytes[7000] ^= 1
      try space.write(bytes, to: "file")
    case .growth: try space.write(Sample.text + [1], to: "file")
    case .cut: try space.write(Array(Sample.text.dropLast()), to: "file")
    case .removal:
      try FileManager.default.removeItem(atPath: file)
      expected = .inputMissing
    case .link:
      try FileManager.default.moveItem(atPath: file, toPath: space.path("moved"))
      try FileManager.default.createSymbolicLink(
        atPath: file, withDestinationPath: space.path("moved"))
      expected = .notAFile
    }
    let error = #expect(throws: BundleError.self) {
      _ = try measured.write(to: space.path("a.zip"))
    }
    #expect(error?.code == expected)
    #expect(error?.path == file)
    #expect(try !space.names.contains { $0.hasSuffix(".zip") || $0.hasSuffix(".partial") })
  }

  @Test func changeWhileAFileIsPacked() throws {
    let space = try Workspace()
    let bytes = [UInt8](repeating: 3, count: 1_000_000)
    for (name, changed) in [("cut", Array(bytes.prefix(300_000))), ("grown", bytes + [1])] {
      let file = try space.write(bytes, to: name)
      let writer = try ZipWriter(path: space.path("a.zip"))
      let source = EntrySource.file(try InputFile(path: file, followsLink: false))
      var isFirst = true
      let error = #expect(throws: BundleError.self) {
        _ = try writer.add(name: name, from: source) { (_) throws(BundleError) in
          guard isFirst else { return }
          isFirst = false
          let handle = FileHandle(forWritingAtPath: file)
          try? handle?.truncate(atOffset: 0)
          try? handle?.write(contentsOf: changed)
        }
      }
      #expect(error?.code == .changedWhileReading, "\(name)")
    }
    #expect(try space.names == ["cut", "grown"])
  }

  @Test func stoppingLeavesNothing() throws {
    let space = try Workspace()
    let measured = try Sample.plan().measured()
    for steps in 0...4 {
      var left = steps
      let error = #expect(throws: BundleError.self) {
        _ = try measured.write(
          to: space.path("a.zip"),
          isCancelled: {
            left -= 1
            return left < 0
          })
      }
      #expect(error?.code == .cancelled)
    }
    #expect(throws: BundleError.self) { _ = try Sample.plan().measured(isCancelled: { true }) }
    #expect(try space.names.isEmpty)
  }

  @Test func plansThatCannotBe() throws {
    var plan = try Sample.plan([])
    for name in ["manifest.json", "Manifest.JSON", "manifest.json/x", "../x", "dir/"] {
      #expect(throws: BundleError.self, "\(name)") {
        try plan.add(name: name, source: .bytes([]), origin: "", why: "")
      }
    }
    for seconds in [Double.nan, .infinity, -.infinity, 1e300, -1e12] {
      let error = #expect(throws: BundleError.self) {
        _ = try Sample.plan([], seconds: seconds).measured()
      }
      #expect(error?.code == .badDate)
    }
    #expect(try BundleDate(secondsSince1970: 0.0015).text() == "1970-01-01T00:00:00.001Z")
    #expect(try BundleDate(secondsSince1970: -0.5).text() == "1969-12-31T23:59:59.500Z")
    #expect(try BundleDate(secondsSince1970: 253_402_300_799).text() == "9999-12-31T23:59:59.000Z")
  }

  // MARK: - Tampering

  /// Every byte, with one seeded bit and with all bits changed. Outside the long rounds, the seeds share the bytes.
  @Test(arguments: [UInt64(11), 12], [Zip64Threshold(), Zip64Threshold(bytes: 0, entries: 0)])
  func everyChangedByteIsFound(_ seed: UInt64, _ threshold: Zip64Threshold) throws {
    let space = try Workspace()
    let writer = try ZipWriter(
      path: space.path("a.zip"), threshold: threshold, calls: OutputCalls())
    _ = try Sample.plan(Self.smallEntries).measured().write(to: writer)
    #expect(try verify(space.path("a.zip"), threshold: threshold).outcome == .intact)
    let bytes = try space.read("a.zip")
    var random = SeededGenerator(state: seed)
    for offset in Rounds.part(of: bytes.indices, every: 2, from: seed == 11 ? 0 : 1) {
      for mask in [UInt8(1) << UInt8.random(in: 0...7, using: &random), 0xFF] {
        var changed = bytes
        changed[offset] ^= mask
        let path = try space.write(changed, to: "b.zip")
        let result = try verify(path, threshold: threshold)
        #expect(!result.problems.isEmpty, "seed \(seed), offset \(offset), mask \(mask)")
        // Only a broken end record hides that this is a zip; the start still tells that it is a bundle.
        #expect(result.outcome == .damaged, "seed \(seed), offset \(offset), mask \(mask)")
      }
    }
  }

  @Test func everyTruncationAndExtensionIsFound() throws {
    let space = try Workspace()
    _ = try Sample.plan(Self.smallEntries).measured().write(to: space.path("a.zip"))
    let bytes = try space.read("a.zip")
    for length in 0..<bytes.count {
      let result = try verify(try space.write(Array(bytes[..<length]), to: "b.zip"))
      #expect(!result.problems.isEmpty)
      if length > 43 { #expect(result.outcome == .damaged, "length \(length)") }
    }
    for changed in [bytes + [0], [0] + bytes] {
      let result = try verify(try space.write(changed, to: "b.zip"))
      #expect(!result.problems.isEmpty)
    }
  }

  /// The seal is no secret: whoever changes the space between entries can renew it.
  @Test func hiddenBytesUnderARenewedSealAreFound() throws {
    let space = try Workspace()
    _ = try Sample.plan(Self.smallEntries).measured().write(to: space.path("a.zip"))
    let bytes = try space.read("a.zip")
    let reader = try ZipReader(path: space.path("a.zip"))
    let (directory, end) = (Int(reader.directory.offset), Int(reader.directory.endRecordOffset))

    func sealed(_ body: [UInt8], hidden: Int) -> [UInt8] {
      let facts = ZipEnd(
        entryCount: UInt64(reader.entries.count), directoryOffset: UInt64(directory + hidden),
        directorySize: UInt64(end - directory))
      let comment = Array(BundleSeal.comment(sha256: SHA256.hash(data: body).hex).utf8)
      return body + facts.endBytes(commentSize: comment.count, threshold: Zip64Threshold())
        + comment
    }
    #expect(sealed(Array(bytes[..<end]), hidden: 0) == bytes)

    let hidden = Array(bytes[..<directory]) + [1, 2, 3] + Array(bytes[directory..<end])
    let inGap = try verify(try space.write(sealed(hidden, hidden: 3), to: "b.zip"))
    #expect(inGap.problems.map(\.id) == [.headerChanged])

    // The time of the first entry, in both of its headers, so that they agree.
    var retimed = Array(bytes[..<end])
    retimed[10] = 1
    retimed[directory + 12] = 1
    let inHeader = try verify(try space.write(sealed(retimed, hidden: 0), to: "b.zip"))
    #expect(inHeader.problems.map(\.id) == [.headerChanged])
    #expect(inHeader.problems.first?.entry == "manifest.json")
  }

  /// Repacks a bundle by another program after each change, so that every checksum of the zip format is right.
  private func repacked(_ changes: [String]) throws -> [BundleVerification]? {
    guard let python = Tool("python3") else { return nil }
    let space = try Workspace()
    _ = try Sample.plan(Self.smallEntries).measured().write(to: space.path("a.zip"))
    let script = """
      import sys, json
      from zipfile import ZipFile, ZIP_DEFLATED
      for number, change in enumerate(sys.argv[2:]):
          old = ZipFile(sys.argv[1]); comment = old.comment
          e = [(n, old.read(n)) for n in old.namelist()]
          exec(change)
          new = ZipFile(sys.argv[1] + str(number), 'w', ZIP_DEFLATED)
          for n, b in e: new.writestr(n, b)
          new.comment = comment
          new.close()
      """
    let made = try python.run(["-c", script, space.path("a.zip")] + changes)
    #expect(made.status == 0, "\(made.output)")
    return try changes.indices.map { try verify(space.path("a.zip\($0)")) }
  }

  @Test func consistentTamperingIsNamed() throws {
    let cases: [(change: String, id: BundleVerification.Problem.ID, entry: String?)] = [
      ("pass", .sealBroken, nil), ("comment = b''", .sealMissing, nil),
      ("e[1] = (e[1][0], e[1][1] + b'x')", .entryChanged, "report.json"),
      ("e[1] = (e[1][0], e[1][1].replace(b'c', b'd'))", .entryChanged, "report.json"),
      ("del e[2]", .entryMissing, "findings.ndjson"),
      ("e.append(('extra', b'x'))", .entryUnlisted, "extra"),
      ("e = e[1:] + e[:1]", .manifestNotFirst, "manifest.json"),
    ]
    guard let results = try repacked(cases.map { $0.change }) else { return }
    for (result, (change, id, entry)) in zip(results, cases) {
      #expect(
        result.problems.contains { $0.id == id && $0.entry == entry },
        "\(change): \(result.problems)")
      #expect(result.outcome == .damaged, "\(change)")
      #expect(result.manifest != nil, "\(change)")
    }
  }

  @Test func otherArchivesAreNoBundles() throws {
    let changes = [
      "del e[0]", "e[0] = ('manifest.json', b'{}'); comment = b''",
      "e[0] = ('manifest.json', e[0][1].replace(b'\"version\" : 1', b'\"version\" : 2')); e = e[:1]",
    ]
    guard let results = try repacked(changes) else { return }
    for (result, change) in zip(results, changes) {
      #expect(result.manifest == nil, "\(change)")
      #expect(result.outcome != .intact, "\(change)")
      if change.hasPrefix("del") { #expect(result.outcome == .notABundle) }
    }
  }

  @Test func filesThatAreNoBundles() throws {
    let space = try Workspace()
    let text = try verify(try space.write(Array("hello".utf8), to: "a"))
    #expect(text.outcome == .notABundle)
    #expect(text.problems.map(\.id) == [.notAZip])
    for (name, code) in [("missing", BundleError.Code.inputMissing), ("", .notAFile)] {
      let error = #expect(throws: BundleError.self) { try verify(space.path(name)) }
      #expect(error?.code == code)
    }
    #expect(throws: BundleError.self) {
      try BundleVerification.verify(
        path: try space.write([], to: "x").replacingOccurrences(of: "/x", with: "/nothing"))
    }
  }

  @Test(
    arguments: [
      "", "[]", "{}", "nonsense", String(repeating: "[", count: 100_000),
      #"{"schema": "lifeboat.bundle", "version": 1}"#,
      #"{"schema": "lifeboat.bundle", "version": 1e400}"#,
      #"{"schema":"lifeboat.bundle","version":1,"tool":{"name":"","version":""},"created":"","contents":"rows","withheld":[],"entries":[{"name":"../x","sizeBytes":0,"sha256":"\#(String(repeating: "a", count: 64))","source":"","why":""}]}"#,
      #"{"schema":"lifeboat.bundle","version":1,"tool":{"name":"","version":""},"created":"","contents":"rows","withheld":[],"entries":[{"name":"x","sizeBytes":-1,"sha256":"\#(String(repeating: "a", count: 64))","source":"","why":""}]}"#,
      #"{"schema":"lifeboat.bundle","version":1,"tool":{"name":"","version":""},"created":"","contents":"rows","withheld":[],"entries":[{"name":"x","sizeBytes":1,"sha256":"abc","source":"","why":""}]}"#,
    ])
  func badManifestsAreErrors(_ json: String) {
    #expect(throws: BundleError.self) { try BundleManifest(json: Array(json.utf8)) }
  }

  @Test func messagesCannotSteerATerminal() {
    let error = BundleError(
      .badName, "odd", path: "/a\u{1B}[2J", entry: "x\u{202E}y\n\u{2028}\u{9B}", offset: 7)
    #expect(
      error.description
        == #"odd, entry "x\u{202E}y\n\u{2028}\u{009B}", in "/a\u{1B}[2J", offset 7 (bundle.badName)"#
    )
  }

  @Test func verificationCanBeStopped() throws {
    let space = try Workspace()
    let path = space.path("a.zip")
    _ = try Sample.plan().measured().write(to: path)
    let error = #expect(throws: BundleError.self) {
      try BundleVerification.verify(path: path, isCancelled: { true })
    }
    #expect(error?.code == .cancelled)
  }
}
