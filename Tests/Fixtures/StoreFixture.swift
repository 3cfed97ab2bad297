import CSQLite
public import Foundation

/// A kind of SQLite file that the file reader must be able to read. libsqlite3 makes the file.
public struct StoreFixture: Sendable, CustomStringConvertible {
  /// A name that says what is special about the file. With `.sqlite`, it is also the name of the file.
  public let name: String
  /// Makes the file, and its log or journal, in a folder. Returns the URL of the main file.
  public let make: @Sendable (_ folder: URL) throws -> URL

  /// The same as ``name``.
  public var description: String { name }

  /// Creates a fixture for a database that is closed after `build` has filled it.
  ///
  /// - Parameters:
  ///   - name: a name that says what is special about the file.
  ///   - pageSize: the page size in bytes, a power of two from 512 to 65,536.
  ///   - reserved: the number of bytes at the end of each page that SQLite does not use.
  ///   - pragmas: statements that must run before the first table is made, for example to set the encoding.
  ///   - build: a closure that fills the database.
  init(
    _ name: String, pageSize: Int = 4096, reserved: Int32 = 0, pragmas: String = "",
    _ build: @escaping @Sendable (SQLiteConnection) throws -> Void
  ) {
    self.name = name
    make = { folder in
      let url = folder.appendingPathComponent(name + ".sqlite")
      let connection = try Self.begin(url, pageSize, reserved, pragmas)
      defer { connection.close() }
      try build(connection)
      return url
    }
  }

  /// Creates a fixture for a database whose writer was killed. The database is made in another folder. At the end of
  /// `build`, while the connection is still open, the main file, the write-ahead log and the journal are copied.
  init(
    killed name: String, pageSize: Int = 4096, pragmas: String = "",
    alter: @escaping @Sendable (URL) throws -> Void = { _ in },
    _ build: @escaping @Sendable (SQLiteConnection) throws -> Void
  ) {
    self.name = name
    make = { folder in
      let workshop = try TemporaryFolder()
      let url = workshop.url.appendingPathComponent(name + ".sqlite")
      let connection = try Self.begin(url, pageSize, 0, pragmas)
      defer { connection.close() }
      try build(connection)
      let copy = try SQLiteConnection.copyStore(url, into: folder)
      try alter(copy)
      return copy
    }
  }

  private static func begin(
    _ url: URL, _ pageSize: Int, _ reserved: Int32, _ pragmas: String
  ) throws -> SQLiteConnection {
    guard !FileManager.default.fileExists(atPath: url.path) else {
      throw FixtureError("\(url.path) is there already")
    }
    let connection = try SQLiteConnection(url)
    try connection.exec("PRAGMA page_size = \(pageSize)")
    if reserved > 0 { try connection.reserve(bytes: reserved) }
    // Debian builds SQLite with secure_delete on, which overwrites deleted rows with zeros.
    try connection.exec("PRAGMA synchronous = OFF; PRAGMA secure_delete = OFF; \(pragmas)")
    return connection
  }
}

/// All fixtures. They do not include a database larger than 1 GiB, because it would take too long to make for every
/// test. Only such a database has a lock-byte page (the page at offset 2^30, which holds no data).
public enum StoreFixtures {
  /// All fixtures. Their names are unique, so that all files can be in one folder.
  public static let all: [StoreFixture] =
    layout + values + schema + tables + writeAheadLog + journal

  /// The fixture with this name.
  public static func named(_ name: String) throws -> StoreFixture {
    guard let fixture = all.first(where: { $0.name == name }) else {
      throw FixtureError("there is no fixture \(name)")
    }
    return fixture
  }
}

/// Bytes that look random and are the same in each run.
enum Noise {
  private static let pool: [UInt8] = {
    var generator = SplitMix64(seed: 0x11fe_b0a7)
    return generator.bytes(1 << 18)
  }()

  /// Returns `count` bytes. A different `salt` gives different bytes.
  static func bytes(_ count: Int, salt: Int = 0) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(count)
    var offset = (salt &* 7919) & (pool.count - 1)
    var block: UInt8 = 0
    while result.count < count {
      let length = min(count - result.count, pool.count - offset)
      // The last byte of each block of the pool is changed, so that a test notices when blocks are swapped.
      result.append(contentsOf: pool[offset..<offset + length])
      result[result.count - 1] ^= block
      block &+= 1
      offset = 0
    }
    return result
  }

  /// Returns `count` lower-case letters that look random.
  static func text(_ count: Int, salt: Int = 0) -> [UInt8] {
    bytes(count, salt: salt).map { 97 + $0 % 26 }
  }
}
