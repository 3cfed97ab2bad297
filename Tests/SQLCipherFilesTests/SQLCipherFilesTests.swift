import Fixtures
import Foundation
import SQLCipherFiles
import SQLiteFile
import Testing

/// The tests' own encryption, SQLCipher 3 as Debian has it, and SQLCipher 4 from Python's index say what is right.
@Suite struct SQLCipherFilesTests {
  // MARK: - Files of our own

  /// A database with reserved bytes, so that it can be encrypted.
  private static func plain(
    in folder: URL, pageSize: Int = 4096, reserved: Int32 = EncryptedFile.reservedOfVersion4,
    rows: Int = 500
  ) throws -> [UInt8] {
    let url = folder.appendingPathComponent("plain-\(pageSize).sqlite")
    let connection = try SQLiteConnection(url)
    try connection.reserve(bytes: reserved)
    try connection.exec(
      """
      PRAGMA page_size = \(pageSize);
      CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body BLOB);
      CREATE INDEX byTitle ON note(title);
      WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < \(rows))
        INSERT INTO note SELECT i, 'Note ' || i, randomblob(i % 900) FROM i;
      """)
    connection.close()
    return try Array(Data(contentsOf: url))
  }

  private static func file(_ bytes: [UInt8], in folder: URL, _ name: String = "e.sqlite") throws
    -> ByteFile
  {
    let url = folder.appendingPathComponent(name)
    try Data(bytes).write(to: url)
    return try ByteFile(url.path)
  }

  private static func decrypted(
    _ bytes: [UInt8], _ key: String, in folder: URL
  ) throws -> (bytes: [UInt8], findings: FindingList, format: CipherFormat) {
    let file = try file(bytes, in: folder)
    let cipher = try PageCipher(CipherKey(Array(key.utf8)), opening: file)
    var output: [UInt8] = []
    let findings = try cipher.decrypt(database: file) { output += $0 }
    return (output, findings, cipher.format)
  }

  /// What SQLite would read: the reserved bytes are not part of it.
  private static func content(_ bytes: [UInt8], _ pageSize: Int, _ reserved: Int) -> [UInt8] {
    stride(from: 0, to: bytes.count, by: pageSize).flatMap {
      bytes[$0..<($0 + pageSize - reserved)]
    }
  }

  @Test(arguments: [1024, 2048, 4096, 65_536])
  func everyPageSizeIsFound(pageSize: Int) throws {
    let place = try TemporaryFolder()
    let plain = try Self.plain(in: place.url, pageSize: pageSize)
    let secret = try EncryptedFile(pageSize: pageSize)
    let result = try Self.decrypted(secret.database(plain), secret.passphrase, in: place.url)
    #expect(result.format.pageSize == pageSize && result.format.version == 4)
    #expect(result.findings.count == 0)
    #expect(
      Self.content(result.bytes, pageSize, 80) == Self.content(plain, pageSize, 80))
  }

  /// The key itself opens the file without the work for a passphrase, also with a header that is not encrypted.
  @Test(arguments: [16, 32]) func keysWithTheirSalt(clearLength: Int) throws {
    let place = try TemporaryFolder()
    let plain = try Self.plain(in: place.url)
    let secret = try EncryptedFile(clearLength: clearLength)
    let hidden = try secret.database(plain)
    #expect(hidden.starts(with: plain.prefix(16)) == (clearLength == 32))
    let result = try Self.decrypted(hidden, secret.rawKey, in: place.url)
    #expect(Self.content(result.bytes, 4096, 80) == Self.content(plain, 4096, 80))
    let error = #expect(throws: CipherError.self) {
      try Self.decrypted(
        hidden, clearLength == 32 ? secret.passphrase : secret.passphrase + " ", in: place.url)
    }
    #expect(error?.code == (clearLength == 32 ? .badKey : .noKeyFits))
  }

  /// SQLCipher takes any multiple of 16 bytes below the usable size of a page, also in a database of one page.
  @Test(arguments: [16, 32, 48, 112, 4000], [0, 500])
  func headersOfAnyLengthAreInTheClear(clearLength: Int, rows: Int) throws {
    let place = try TemporaryFolder()
    var plain = try Self.plain(in: place.url, rows: max(1, rows))
    if rows == 0 { plain = Array(plain.prefix(4096)) }
    let secret = try EncryptedFile(clearLength: clearLength)
    var hidden = try secret.database(plain)
    // In the tests' own form, a length of 16 stands for the salt.
    if clearLength == 16 { hidden.replaceSubrange(0..<16, with: plain.prefix(16)) }
    let result = try Self.decrypted(hidden, secret.rawKey, in: place.url)
    #expect(result.format.clearLength == clearLength)
    #expect(result.findings.count == 0)
    #expect(Self.content(result.bytes, 4096, 80) == Self.content(plain, 4096, 80))
  }

  @Test func keysInOtherForms() throws {
    let digits = String(repeating: "ab", count: 32)
    #expect(
      try CipherKey(Array("x'\(digits)'".utf8))
        == .raw(key: [UInt8](repeating: 0xab, count: 32), salt: nil))
    #expect(
      try CipherKey(Array("X'\(digits)\(digits.prefix(32).uppercased())'".utf8))
        == .raw(
          key: [UInt8](repeating: 0xab, count: 32), salt: [UInt8](repeating: 0xab, count: 16)))
    #expect(try CipherKey(Array("x'".utf8)) == .passphrase(Array("x'".utf8)))
    for bad in ["", "x''", "x'\(digits.dropLast())'", "x'\(digits.dropLast())g'"] {
      let error = #expect(throws: CipherError.self) { try CipherKey(Array(bad.utf8)) }
      #expect(error?.code == .badKey)
      #expect(error.map { !$0.message.contains("abab") } ?? false)
    }
  }

  /// A changed bit is told for its page and for no other, wherever it is: in the salt it takes the key away.
  @Test func everyChangedPageIsTold() throws {
    let place = try TemporaryFolder()
    let plain = try Self.plain(in: place.url, pageSize: 1024, rows: 60)
    let secret = try EncryptedFile(pageSize: 1024)
    let hidden = try secret.database(plain)
    for offset in stride(from: 16, to: hidden.count, by: 97) {
      var changed = hidden
      changed[offset] ^= 0x10
      let result = try Self.decrypted(changed, secret.rawKey, in: place.url)
      #expect(result.findings.kept.map(\.page) == [UInt32(offset / 1024 + 1)])
      #expect(result.findings.kept.map(\.offset) == [Int64(offset / 1024 * 1024)])
      #expect(result.bytes.count == plain.count)
      // Outside of two blocks, the page is as it was.
      let differing = zip(result.bytes, plain).enumerated().filter { index, pair in
        index % 1024 < 944 && pair.0 != pair.1
      }.map(\.offset)
      #expect(Set(differing.map { $0 / 16 }).count <= 2)
    }
  }

  /// The file may end anywhere; what is left of a page is told, and not guessed.
  @Test func filesThatEndEarly() throws {
    let place = try TemporaryFolder()
    let plain = try Self.plain(in: place.url, pageSize: 1024, rows: 60)
    let secret = try EncryptedFile(pageSize: 1024)
    let hidden = try secret.database(plain)
    for length in [0, 1, 15, 16, 1023] {
      let error = #expect(throws: CipherError.self) {
        try Self.decrypted(Array(hidden.prefix(length)), secret.rawKey, in: place.url)
      }
      #expect(error?.code == .tooShort)
    }
    for length in [1024, 1025, 2000, 2048, 4095] {
      let result = try Self.decrypted(Array(hidden.prefix(length)), secret.rawKey, in: place.url)
      #expect(result.bytes.count == length / 1024 * 1024)
      #expect(result.findings.kept.map(\.id) == (length % 1024 == 0 ? [] : [.pageCut]))
    }
  }

  /// Pages that SQLite filled with zeroes have no code. Noise and zeroes alone are no encrypted file of this key.
  @Test func zeroesAndNoise() throws {
    let place = try TemporaryFolder()
    let plain = try Self.plain(in: place.url, pageSize: 1024, rows: 60)
    let secret = try EncryptedFile(pageSize: 1024)
    var hidden = try secret.database(plain)
    for index in 2048..<3072 { hidden[index] = 0 }
    let result = try Self.decrypted(hidden, secret.rawKey, in: place.url)
    #expect(result.findings.count == 0)
    #expect(result.bytes[2048..<3072].allSatisfy { $0 == 0 })
    var generator = SplitMix64(seed: 4)
    for bytes in [
      [UInt8](repeating: 0, count: 9000),
      (0..<9000).map { _ in UInt8(truncatingIfNeeded: generator.next()) },
    ] {
      let error = #expect(throws: CipherError.self) {
        try Self.decrypted(bytes, secret.rawKey, in: place.url)
      }
      #expect(error?.code == .noKeyFits)
    }
  }

  // MARK: - Logs

  /// A log of encrypted pages reads as the log before encryption does, wherever it is cut or changed.
  @Test func logsKeepWhatFits() throws {
    let place = try TemporaryFolder()
    let url = place.url.appendingPathComponent("log.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec("PRAGMA page_size = 1024")
    try connection.reserve(bytes: EncryptedFile.reservedOfVersion4)
    try connection.exec(
      """
      PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0;
      CREATE TABLE t(a, b); INSERT INTO t VALUES (1, 'one');
      """)
    for value in 2..<20 {
      try connection.exec("INSERT INTO t VALUES (\(value), hex(randomblob(90)))")
    }
    let log = try Array(Data(contentsOf: URL(fileURLWithPath: url.path + "-wal")))
    let main = try Array(Data(contentsOf: url))
    connection.close()
    let secret = try EncryptedFile(pageSize: 1024)
    let opened = try Self.file(secret.database(main), in: place.url)
    let cipher = try PageCipher(CipherKey(Array(secret.rawKey.utf8)), opening: opened)

    // Encrypted frames, with the checksums of the bytes that are in them.
    let hidden = try Self.encrypted(log: log, secret)
    func parsed(_ bytes: [UInt8]) throws -> WriteAheadLog {
      try WriteAheadLog(
        parsing: Self.file(bytes, in: place.url, "x-wal"), mainSize: 1024, includeUncommitted: true)
    }
    func decrypted(_ bytes: [UInt8]) throws -> (bytes: [UInt8], findings: FindingList) {
      var output: [UInt8] = []
      let findings = try cipher.decrypt(log: Self.file(bytes, in: place.url, "e-wal")) {
        output += $0
      }
      return (output, findings)
    }
    let whole = try parsed(log)
    #expect(whole.committedFrameCount > 20)
    #expect(try parsed(decrypted(hidden).bytes) == whole)
    #expect(try decrypted(hidden).findings.count == 0)
    var generator = SplitMix64(seed: 11)
    for _ in 0..<60 {
      let offset = Int(generator.next() % UInt64(hidden.count))
      var changed = hidden
      changed[offset] ^= 4
      // What SQLite would take of the encrypted log, it takes of the decrypted one.
      let (ours, truth) = (try parsed(decrypted(changed).bytes), try parsed(changed))
      #expect(ours.committedFrameCount == truth.committedFrameCount, "\(offset)")
      #expect(ours.defect == truth.defect)
      let cut = try decrypted(Array(hidden.prefix(offset)))
      #expect(cut.bytes.count <= offset)
      #expect(
        try parsed(cut.bytes).committedFrameCount
          == parsed(Array(hidden.prefix(offset))).committedFrameCount)
    }
  }

  private static func encrypted(log: [UInt8], _ secret: EncryptedFile) throws -> [UInt8] {
    var output = Array(log.prefix(32))
    func word(_ bytes: ArraySlice<UInt8>) -> UInt32 {
      bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }
    let isBigEndian = log[3] & 1 == 1
    var (first, second) = (word(log[24..<28]), word(log[28..<32]))
    func add(_ bytes: [UInt8]) {
      for offset in stride(from: 0, to: bytes.count, by: 8) {
        let one = word(bytes[offset..<(offset + 4)])
        let two = word(bytes[(offset + 4)..<(offset + 8)])
        first = first &+ (isBigEndian ? one : one.byteSwapped) &+ second
        second = second &+ (isBigEndian ? two : two.byteSwapped) &+ first
      }
    }
    for offset in stride(from: 32, to: log.count, by: 24 + secret.pageSize) {
      let head = Array(log[offset..<(offset + 16)])
      let page = try secret.page(
        Array(log[(offset + 24)..<(offset + 24 + secret.pageSize)]), word(head[0..<4]))
      add(Array(head.prefix(8)))
      add(page)
      output += head
      for sum in [first, second] {
        output += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: sum >> $0) }
      }
      output += page
    }
    return output
  }

  /// Records that no header counts: of a segment that was not synced, and of an older journal that was longer. The name
  /// of a super-journal is not encrypted.
  @Test(arguments: [0, 1, 2, 5, UInt32.max], [false, true])
  func journalsKeepWhatTheirHeadersDoNotCount(count: UInt32, hasName: Bool) throws {
    let place = try TemporaryFolder()
    let secret = try EncryptedFile(pageSize: 1024)
    let plain = try Self.plain(in: place.url, pageSize: 1024, rows: 300)
    let opened = try Self.file(secret.database(plain), in: place.url)
    let cipher = try PageCipher(CipherKey(Array(secret.rawKey.utf8)), opening: opened)
    func word(_ value: UInt32) -> [UInt8] {
      [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }
    let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
    func journal(_ page: (UInt32) throws -> [UInt8]) rethrows -> [UInt8] {
      var bytes: [UInt8] = []
      // Two segments; the second one ends the file.
      for records: [UInt32] in [[2, 3, 4], [5, 6, 7]] {
        bytes += magic
        for value in [records[0] == 2 ? 3 : count, 9, 20, 512, 1024] { bytes += word(value) }
        bytes += [UInt8](repeating: 0, count: 512 - 28)
        for number in records {
          let page = try page(number)
          let sum = stride(from: 1024 - 200, to: 0, by: -200).reduce(UInt32(9)) {
            $0 + UInt32(page[$1])
          }
          bytes += word(number) + page + word(sum)
        }
        if records[0] == 2 { bytes += [UInt8](repeating: 0, count: 512 - bytes.count % 512) }
      }
      let name = Array("/other-mj1".utf8)
      let sum = name.reduce(UInt32(0)) { $0 + UInt32($1) }
      if hasName {
        bytes += word(1) + name
        bytes += word(UInt32(name.count)) + word(sum) + magic
      }
      return bytes
    }
    func original(_ number: UInt32) -> [UInt8] {
      Array(plain[(Int(number - 1) * 1024)..<(Int(number) * 1024)])
    }
    let hidden = try journal { try secret.page(original($0), $0) }
    // The reserved bytes of a page stay as they are.
    let clear = try journal {
      Array(original($0).prefix(944)) + Array(try secret.page(original($0), $0).suffix(80))
    }
    var output: [UInt8] = []
    let findings = try cipher.decrypt(journal: Self.file(hidden, in: place.url, "e-journal")) {
      output += $0
    }
    #expect(output == clear)
    #expect(findings.count == 0, "\(findings.kept)")
  }

  // MARK: - SQLCipher itself

  private static let debian = findTool("sqlcipher")
  private static let python: String? = ["/usr/bin/python3", findTool("python3")].compactMap { $0 }
    .first { (try? run($0, ["-c", "import sqlcipher3"]).status) == 0 }

  /// The rows of a decrypted file, as SQLite reads them.
  private static func rows(_ url: URL) throws -> [String] {
    let connection = try SQLiteConnection(url)
    defer { connection.close() }
    #expect(try connection.integrityCheck() == ["ok"])
    return try connection.rows(query).compactMap { row in
      if case .text(let text)? = row.first { String(decoding: text, as: UTF8.self) } else { nil }
    }
  }

  /// Decrypts all files of a store that SQLCipher made.
  private static func decrypt(_ url: URL, _ key: String, to output: URL) throws -> FindingList {
    let main = try ByteFile(url.path)
    let cipher = try PageCipher(CipherKey(Array(key.utf8)), opening: main)
    var all = FindingList()
    for suffix in ["", "-wal", "-journal"] where ByteFile.exists(url.path + suffix) {
      var bytes: [UInt8] = []
      let file = try ByteFile(url.path + suffix)
      switch suffix {
      case "-wal": all.add(try cipher.decrypt(log: file) { bytes += $0 })
      case "-journal": all.add(try cipher.decrypt(journal: file) { bytes += $0 })
      default: all.add(try cipher.decrypt(database: file) { bytes += $0 })
      }
      try Data(bytes).write(to: URL(fileURLWithPath: output.path + suffix))
    }
    return all
  }

  private static let fill = """
    CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body BLOB);
    WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < 300)
      INSERT INTO note SELECT i, 'Note ' || i, zeroblob(i * 7) FROM i;
    """

  private static let query =
    "SELECT id || '|' || quote(title) || '|' || quote(body) FROM note ORDER BY id;"

  /// What is done to a store before its files are copied, in the midst of it.
  private static func work(_ mode: String) -> String {
    switch mode {
    case "wal": "PRAGMA journal_mode = wal; UPDATE note SET title = 'Changed' WHERE id % 3 = 0;"
    case "hot": "PRAGMA cache_size = 2; BEGIN; UPDATE note SET title = 'Lost', body = zeroblob(9);"
    default: "DELETE FROM note WHERE id = 7;"
    }
  }

  private static let sideFiles = ["delete": "", "wal": "-wal", "hot": "-journal"]

  /// Compares our decryption of one copy with what SQLCipher reads from another copy.
  private static func compare(
    _ place: URL, _ key: String, _ mode: String, _ truth: [String]
  ) throws {
    let target = place.appendingPathComponent("decrypted.db")
    let findings = try decrypt(place.appendingPathComponent("ours.db"), key, to: target)
    #expect(findings.count == 0, "\(findings.kept)")
    let rows = try rows(target)
    #expect(rows == truth)
    #expect(rows.count == (mode == "delete" ? 299 : 300))
    #expect(rows.contains { $0.contains("Changed") } == (mode == "wal"))
    #expect(!rows.contains { $0.contains("Lost") })
  }

  /// Version 3: the main file, a log that was not checkpointed, and a journal of a transaction that did not finish.
  @Test(.enabled(if: debian != nil, "needs sqlcipher"), arguments: ["delete", "wal", "hot"])
  func debiansFiles(mode: String) throws {
    let place = try TemporaryFolder()
    let program = try #require(Self.debian)
    let url = place.url.appendingPathComponent("notes.db")
    func shell(_ file: URL, _ text: String) throws -> [String] {
      let outcome = try run(
        program, [file.path], stdin: Data("PRAGMA key = 'the sea';\n\(text)\n".utf8))
      #expect(outcome.stderr.isEmpty, "\(String(decoding: outcome.stderr, as: UTF8.self))")
      return String(decoding: outcome.stdout, as: UTF8.self).split(separator: "\n").map(String.init)
    }
    let copies = ["ours.db", "theirs.db"].flatMap { name in
      Set(["", Self.sideFiles[mode] ?? ""]).map {
        ".shell cp \(url.path)\($0) \(place.url.path)/\(name)\($0)"
      }
    }
    _ = try shell(url, ([Self.fill, Self.work(mode)] + copies).joined(separator: "\n"))
    let truth = try shell(place.url.appendingPathComponent("theirs.db"), Self.query)
    try Self.compare(place.url, "the sea", mode, truth.filter { $0.contains("|") })
  }

  /// Version 4, with a passphrase, a key, and a key with its salt.
  @Test(
    .enabled(if: python != nil, "needs the Python package sqlcipher3"),
    arguments: ["delete", "wal", "hot"], ["the sea", "key", "salted"])
  func filesOfVersion4(mode: String, form: String) throws {
    let place = try TemporaryFolder()
    let key =
      switch form {
      case "key": "x'\(String(repeating: "5e", count: 32))'"
      case "salted": "x'\(String(repeating: "5e", count: 48))'"
      default: form
      }
    let script = """
      import shutil, sqlcipher3, sys
      folder, key, side, query, *work = sys.argv[1:]
      def opened(name):
          store = sqlcipher3.connect(f"{folder}/{name}", isolation_level=None)
          store.execute('PRAGMA key = "%s"' % key)
          return store
      store = opened("notes.db")
      for part in work:
          for statement in part.split(";"): store.execute(statement)
      for name in ["ours.db", "theirs.db"]:
          for suffix in {"", side}: shutil.copy(f"{folder}/notes.db{suffix}", f"{folder}/{name}{suffix}")
      for row in opened("theirs.db").execute(query): print(row[0])
      """
    let outcome = try run(
      try #require(Self.python),
      [
        "-c", script, place.url.path, key, Self.sideFiles[mode] ?? "", Self.query, Self.fill,
        Self.work(mode),
      ])
    try #require(outcome.status == 0, "\(String(decoding: outcome.stderr, as: UTF8.self))")
    let truth = String(decoding: outcome.stdout, as: UTF8.self).split(separator: "\n").map(
      String.init)
    try Self.compare(place.url, key, mode, truth)
  }

  /// SQLCipher reads what the tests encrypt, so they are right about the format.
  @Test(.enabled(if: python != nil, "needs the Python package sqlcipher3"))
  func ourFilesAreTheirs() throws {
    let place = try TemporaryFolder()
    let plain = try Self.plain(in: place.url)
    let secret = try EncryptedFile()
    let url = place.url.appendingPathComponent("e.sqlite")
    try Data(secret.database(plain)).write(to: url)
    let script = """
      import sqlcipher3, sys
      store = sqlcipher3.connect(sys.argv[1])
      store.execute("PRAGMA key = '%s'" % sys.argv[2])
      print(store.execute("SELECT count(*), sum(length(body)) FROM note").fetchone(),
        store.execute("PRAGMA cipher_integrity_check").fetchall())
      """
    let outcome = try run(try #require(Self.python), ["-c", script, url.path, secret.passphrase])
    #expect(
      String(decoding: outcome.stdout, as: UTF8.self).hasPrefix("(500, "),
      "\(String(decoding: outcome.stderr, as: UTF8.self))")
    #expect(String(decoding: outcome.stdout, as: UTF8.self).hasSuffix(") []\n"))
  }
}
