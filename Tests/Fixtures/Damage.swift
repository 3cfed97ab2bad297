public import Foundation

/// Cuts a file to the given number of bytes, or fills it up with zeros to it.
public func truncate(_ url: URL, to size: Int) throws {
  let file = try FileHandle(forWritingTo: url)
  defer { try? file.close() }
  try file.truncate(atOffset: UInt64(size))
}

/// Writes bytes over a file at an offset; the file grows when they reach past its end.
public func overwrite(_ url: URL, at offset: Int, bytes: [UInt8]) throws {
  let file = try FileHandle(forWritingTo: url)
  defer { try? file.close() }
  try file.seek(toOffset: UInt64(offset))
  try file.write(contentsOf: Data(bytes))
}

/// Makes a file of random bytes; the same seed gives the same file.
public func randomFile(_ url: URL, bytes count: Int, seed: UInt64) throws {
  var generator = SplitMix64(seed: seed)
  try Data(generator.bytes(count)).write(to: url)
}

/// The whole content of a file.
public func bytes(of url: URL) throws -> [UInt8] {
  try [UInt8](Data(contentsOf: url))
}
