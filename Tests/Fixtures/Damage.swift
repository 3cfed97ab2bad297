public import Foundation

/// Sets the length of a file to `size` bytes: cuts off the end of a longer file, or appends zeros to a shorter file.
public func truncate(_ url: URL, to size: Int) throws {
  let file = try FileHandle(forWritingTo: url)
  defer { try? file.close() }
  try file.truncate(atOffset: UInt64(size))
}

/// Overwrites the bytes of a file from `offset` on. The file grows if the new bytes reach past its end.
public func overwrite(_ url: URL, at offset: Int, bytes: [UInt8]) throws {
  let file = try FileHandle(forWritingTo: url)
  defer { try? file.close() }
  try file.seek(toOffset: UInt64(offset))
  try file.write(contentsOf: Data(bytes))
}

/// Makes a file of random bytes. Two files made with the same seed have equal bytes.
public func randomFile(_ url: URL, bytes count: Int, seed: UInt64) throws {
  var generator = SplitMix64(seed: seed)
  try Data(generator.bytes(count)).write(to: url)
}

/// Reads all bytes of a file.
public func bytes(of url: URL) throws -> [UInt8] {
  try [UInt8](Data(contentsOf: url))
}

/// Makes a database with pages of 1024 bytes and one table `t(a, b)`, for tests that cut off the end of its last page.
///
/// - Parameters:
///   - url: the URL of the new file.
///   - definition: the CREATE statement of the table.
///   - count: the number of rows, less than 256. A value has 40 bytes; the value of an only row has 5000 bytes, so the
///     last page is the end of an overflow chain.
/// - Returns: the bytes of the file.
/// - Throws: `FixtureError`, and when the file cannot be read.
public func databaseToCut(_ url: URL, _ definition: String, rowCount count: Int) throws -> [UInt8] {
  let connection = try SQLiteConnection(url)
  try connection.exec("PRAGMA page_size = 1024; \(definition)")
  try connection.insert(
    "INSERT INTO t VALUES (?, ?)",
    (1...count).map { number -> [FixtureValue] in
      let length = count == 1 ? 5000 : 40
      return [.integer(Int64(number)), .blob([UInt8](repeating: UInt8(number), count: length))]
    })
  connection.close()
  return try bytes(of: url)
}
