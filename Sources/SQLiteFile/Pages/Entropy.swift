package enum Entropy {
  /// Whether `bytes` contains at least 4 KiB, and all byte values occur about equally often, as in encrypted bytes.
  ///
  /// A chi-squared test over the 256 byte values decides. For random bytes, the sum of the test is near 255, with a
  /// standard deviation of about 23. For text, code and databases, the sum is greater by thousands.
  package static func looksRandom(_ bytes: [UInt8]) -> Bool {
    guard bytes.count >= 4096 else { return false }
    var counts = [Int](repeating: 0, count: 256)
    for byte in bytes { counts[Int(byte)] += 1 }
    let expected = Double(bytes.count) / 256
    let sum = counts.reduce(0.0) {
      $0 + (Double($1) - expected) * (Double($1) - expected) / expected
    }
    return sum < 400
  }

  /// The number of bytes of each block that is tested for randomness.
  private static let blockLength = 4096
  private static let maxBlocks = 64

  /// Whether a file looks encrypted: each of up to 64 blocks, spread over the file, looks random. A database does not
  /// look encrypted if only its start was overwritten with random bytes.
  package static func looksEncrypted(_ file: ByteFile) throws(SQLiteFileError) -> Bool {
    // This skips the first 512 bytes, which may contain an unencrypted header.
    let start: Int64 = file.size >= Int64(blockLength) + 512 ? 512 : 0
    let count = (file.size - start) / Int64(blockLength)
    guard count > 0 else { return false }
    let taken = min(count, Int64(maxBlocks))
    for index in 0..<taken {
      // The first and the last block are always among the tested blocks.
      let block = taken == 1 ? 0 : index * (count - 1) / (taken - 1)
      let bytes = try file.bytes(at: start + block * Int64(blockLength), count: blockLength)
      guard looksRandom(bytes) else { return false }
    }
    return true
  }
}
