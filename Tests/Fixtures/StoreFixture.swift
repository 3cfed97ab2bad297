import CSQLite
public import Foundation

/// A kind of SQLite file that the byte reader must read, and how to make one with libsqlite3.
public struct StoreFixture: Sendable, CustomStringConvertible {
  /// What is special about it; also the file's name without `.sqlite`.
  public let name: String
  /// Makes the file, and what belongs beside it, in a folder; returns the main file.
  public let make: @Sendable (_ folder: URL) throws -> URL

  /// The name.
  public var description: String { name }

  /// Builds a database that is closed when it is done.
  ///
  /// - Parameters:
  ///   - name: what is special about it.
  ///   - pageSize: bytes, a power of two from 512 to 65,536.
  ///   - reserved: bytes at the end of each page that SQLite leaves alone.
  ///   - pragmas: what must be set before the first table, such as the encoding.
  ///   - build: fills the database.
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

  /// Builds a database elsewhere and copies it, its write-ahead log and its journal as they stand at
  /// the end of `build`, with the connection still open: the state that a killed process leaves.
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
    // Debian builds SQLite with secure_delete on, which leaves nothing to carve.
    try connection.exec("PRAGMA synchronous = OFF; PRAGMA secure_delete = OFF; \(pragmas)")
    return connection
  }
}

/// Every kind of store. Not among them: a database past 1 GiB, whose lock-byte page (the one at
/// offset 2^30, which holds no data) would take too long to make for every test.
public enum StoreFixtures {
  /// All of them; names are unique, so that all fit into one folder.
  public static let all: [StoreFixture] =
    layout + values + schema + tables + writeAheadLog + journal

  /// The one with the given name.
  public static func named(_ name: String) throws -> StoreFixture {
    guard let fixture = all.first(where: { $0.name == name }) else {
      throw FixtureError("there is no fixture \(name)")
    }
    return fixture
  }
}

/// Bytes that look random, differ everywhere and are the same in each run.
enum Noise {
  private static let pool: [UInt8] = {
    var generator = SplitMix64(seed: 0x11fe_b0a7)
    return generator.bytes(1 << 18)
  }()

  /// Noise of any length. Different `salt` give different bytes.
  static func bytes(_ count: Int, salt: Int = 0) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(count)
    var offset = (salt &* 7919) & (pool.count - 1)
    var block: UInt8 = 0
    while result.count < count {
      let length = min(count - result.count, pool.count - offset)
      // The last byte of each block of the pool differs, so that swapped blocks show.
      result.append(contentsOf: pool[offset..<offset + length])
      result[result.count - 1] ^= block
      block &+= 1
      offset = 0
    }
    return result
  }

  /// Lower-case letters from noise.
  static func text(_ count: Int, salt: Int = 0) -> [UInt8] {
    bytes(count, salt: salt).map { 97 + $0 % 26 }
  }
}
