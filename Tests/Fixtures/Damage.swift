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
