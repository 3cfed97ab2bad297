import SafeFiles
import CSQLite
import StoreFiles
import Fixtures
import Foundation
import ObjectModel
import Testing

@testable import StoreRecovery

/// A folder that goes away with the test.
final class Workbench: Sendable {
  let folder: String

  init() throws {
    folder =
      FileManager.default.temporaryDirectory.appendingPathComponent("lifeboat-" + UUID().uuidString)
      .path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  var store: String { folder + "/Done.sqlite" }
  var incompatible: String { folder + "/Incompatible" }

  func write(_ text: String, to name: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/" + name))
  }

  func names(_ path: String? = nil) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: path ?? folder)) ?? []).sorted()
  }

  func bytes(_ name: String) -> Data? { FileManager.default.contents(atPath: folder + "/" + name) }

  /// Bytes and modification times of all files of the set at the store's names, or at those in `folder`.
  func snapshot(in other: String? = nil) -> [String: String] {
    let set = StoreSet(at: (other ?? folder) + "/Done.sqlite")
    guard let seal = try? StoreSeal(sealing: set) else { return ["unsealed": ""] }
    var result: [String: String] = [:]
    for file in seal.files {
      let time = file.kind == .folder ? 0 : file.modifiedNanoseconds ?? 0
      result[file.name] = "\(file.kind) \(file.sizeBytes) \(file.sha256 ?? "-") \(time)"
    }
    return result
  }

  /// A store with 10 rows in the main file and 50 in its log, an index of the log and external blobs.
  func makeStore() throws {
    for (suffix, data) in try Self.template.get() {
      try data.write(to: URL(fileURLWithPath: store + suffix))
    }
    let blobs = folder + "/.Done_SUPPORT/_EXTERNAL_DATA"
    try FileManager.default.createDirectory(atPath: blobs, withIntermediateDirectories: true)
    try write("a large picture", to: ".Done_SUPPORT/_EXTERNAL_DATA/5AB00A06")
  }

  private static let template = Result { try makeTemplate() }

  private static func makeTemplate() throws -> [(suffix: String, data: Data)] {
    let bench = try Workbench()
    let database = try Database(bench.store)
    try database.run(
      "PRAGMA journal_mode=WAL; CREATE TABLE ZTASK(Z_PK INTEGER PRIMARY KEY, T TEXT)")
    for row in 1...10 { try database.run("INSERT INTO ZTASK(T) VALUES('row \(row)')") }
    try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    for row in 11...60 { try database.run("INSERT INTO ZTASK(T) VALUES('row \(row)')") }
    // Read while open: closing would bring the log's rows into the main file.
    let files = try ["", "-wal", "-shm"].map {
      ($0, try Data(contentsOf: URL(fileURLWithPath: bench.store + $0)))
    }
    database.close()
    return files
  }

  func recovery(
    policy: Policy = Workbench.policy(), structure: StructureReader? = nil,
    fileSystem: FileSystem = .real, clock: @escaping @Sendable () -> Date = { Workbench.now }
  ) -> Recovery {
    Recovery(
      URL(fileURLWithPath: store), app: .init(name: "Done", version: "2.1"), policy: policy,
      structure: structure, fileSystem: fileSystem, clock: clock)
  }

  /// 2026-11-20 21:53:07 UTC
  static let now = Date(timeIntervalSince1970: 1_795_211_587)
  static let stamp = "2026-11-20-21-53-07Z"

  static func policy() -> Policy {
    var policy = Policy()
    policy.retryPauses = []
    policy.sqliteCode = { ($0 as? SQLiteFailure)?.code }
    return policy
  }

  /// A reader that finds hashes of another model in every store.
  static let mismatching: StructureReader = { _, evidence in
    evidence.recordedHashes = hashes(["Task": 0xaa, "Tag": 0xbb])
    evidence.storeUUID = "0C2E9C3A"
    evidence.structure = .init(findings: [], findingCount: 0, isUnopenable: false)
  }

  static let model = ExpectedModel(
    name: "Model 2", hashes: hashes(["Task": 0xcc, "Tag": 0xbb]))
}

/// Version hashes of one repeated byte.
func hashes(_ bytes: [String: UInt8]) -> [String: VersionHash] {
  bytes.compactMapValues { VersionHash(bytes: [UInt8](repeating: $0, count: 32)) }
}

struct SQLiteFailure: Error, Equatable {
  let code: Int32
}

/// A host's own error, compared by identity.
final class HostError: Error, Sendable {}

/// The least of a database for these tests.
@safe final class Database {
  private var handle: OpaquePointer?

  init(_ path: String) throws {
    let code = unsafe sqlite3_open_v2(
      path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXRESCODE, nil)
    guard code == SQLITE_OK else {
      close()
      throw SQLiteFailure(code: code)
    }
  }

  deinit { close() }

  func close() {
    unsafe sqlite3_close_v2(handle)
    unsafe handle = nil
  }

  func run(_ sql: String) throws {
    let code = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw SQLiteFailure(code: code) }
  }

  func number(_ sql: String) throws -> Int64 {
    var statement: OpaquePointer?
    let prepared = unsafe sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
    guard prepared == SQLITE_OK else { throw SQLiteFailure(code: prepared) }
    defer { unsafe _ = sqlite3_finalize(statement) }
    let stepped = unsafe sqlite3_step(statement)
    guard stepped == SQLITE_ROW else { throw SQLiteFailure(code: stepped) }
    return unsafe sqlite3_column_int64(statement, 0)
  }

  /// A host's opener: it reads the schema, and makes a table in a new store.
  static func open(_ url: URL) throws -> Database {
    let database = try Database(url.path)
    do {
      _ = try database.number("SELECT count(*) FROM sqlite_master")
      try database.run("PRAGMA journal_mode=WAL; CREATE TABLE IF NOT EXISTS ZTASK(Z_PK INTEGER, T)")
    } catch {
      database.close()
      throw error
    }
    return database
  }

  /// Rows of a set, counted on a copy.
  static func rows(ofSetIn folder: String) throws -> Int64 {
    let copy = NSTemporaryDirectory() + "/lifeboat-count-" + UUID().uuidString
    try FileManager.default.copyItem(atPath: folder, toPath: copy)
    defer { try? FileManager.default.removeItem(atPath: copy) }
    let database = try Database(copy + "/Done.sqlite")
    defer { database.close() }
    return try database.number("SELECT count(*) FROM ZTASK")
  }
}

/// Counts calls from a closure that may run anywhere.
final class Counter: @unchecked Sendable {
  private let lock = NSLock()
  private var value = 0
  private var log: [String] = []

  @discardableResult
  func next(_ note: String = "") -> Int {
    lock.withLock {
      value += 1
      log.append(note)
      return value
    }
  }

  var count: Int { lock.withLock { value } }
  var notes: [String] { lock.withLock { log } }
}

extension FileSystem {
  /// The real file system, with `check` before each call that changes something. It does not wait for the
  /// device, which no test can see.
  static func watched(
    _ check: @escaping @Sendable (_ call: String, _ path: String) throws -> Void
  ) -> FileSystem {
    let real = FileSystem.real
    var watched = real
    watched.link = {
      try check("link", $1)
      try real.link($0, $1)
    }
    watched.rename = {
      try check("rename", $1)
      try real.rename($0, $1)
    }
    watched.replace = {
      try check("replace", $1)
      try real.replace($0, $1)
    }
    watched.unlink = {
      try check("unlink", $0)
      try real.unlink($0, $1)
    }
    watched.makeFolder = {
      try check("makeFolder", $0)
      try real.makeFolder($0, $1)
    }
    watched.copyFolder = {
      try check("makeFolder", $1)
      try real.copyFolder($0, $1)
    }
    watched.removeFolder = {
      try check("removeFolder", $0)
      try real.removeFolder($0)
    }
    watched.syncFile = {
      try check("syncFile", $0)
    }
    watched.syncFolder = {
      try check("syncFolder", $0)
    }
    watched.copy = {
      try check("copy", $1)
      try real.copy($0, $1)
    }
    watched.write = {
      try check("write", $0)
      try real.write($0, $1)
    }
    watched.lock = {
      try check("lock", $0)
      return try real.lock($0)
    }
    watched.setTraits = {
      try check("setTraits", $0)
      try real.setTraits($0, $1)
    }
    watched.setModified = {
      try check("setModified", $0)
      try real.setModified($0, $1)
    }
    return watched
  }
}

/// What is remembered of earlier failures.
func repetition(same: Int = 0, all: Int = 0, isAllowed: Bool? = nil, isKnown: Bool = true)
  -> StoreEvidence.Repetition
{
  var repetition = StoreEvidence.Repetition(fingerprint: "corrupt sqlite.11")
  repetition.same = same
  repetition.all = all
  repetition.isAllowed = isAllowed
  repetition.isKnown = isKnown
  return repetition
}

func trial(makesFreshStore: Bool = true, copy: StoreEvidence.Trial.Copy? = nil)
  -> StoreEvidence.Trial
{
  var trial = StoreEvidence.Trial()
  trial.makesFreshStore = makesFreshStore
  trial.copy = copy
  return trial
}

/// Runs `body` while another process holds the lock that a connection in WAL mode holds.
func lockedElsewhere(_ path: String, _ body: () throws -> Void) throws {
  guard let python = findTool("python3") else {
    print("skipped: a lock of another process, without python3")
    return
  }
  let other = Process()
  other.executableURL = URL(fileURLWithPath: python)
  other.arguments = [
    "-c",
    """
    import fcntl, sys
    file = open(sys.argv[1], 'rb+')
    fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB, 510, 0x40000002)
    print('ready', flush=True)
    sys.stdin.read()
    """, path,
  ]
  let input = Pipe()
  let output = Pipe()
  other.standardInput = input
  other.standardOutput = output
  try other.run()
  #expect(!output.fileHandleForReading.availableData.isEmpty, "it holds the lock")
  defer {
    try? input.fileHandleForWriting.close()
    other.waitUntilExit()
  }
  try body()
}
