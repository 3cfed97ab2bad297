/// Recognizes bytes that look random, as encrypted bytes do.
package enum Entropy {
  /// Whether there are at least 4 KiB of bytes, and they are distributed as evenly as encrypted bytes.
  ///
  /// A chi-squared test over the 256 byte values: for random bytes the sum is near 255 with a deviation of about 23;
  /// for text, code and databases it is greater by thousands.
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

  /// The length of a tested block: enough for the test, and no more than most pages have.
  private static let blockLength = 4096
  private static let maxBlocks = 64

  /// Whether a file looks encrypted: each of up to 64 blocks spread over the file looks random. A database whose start
  /// was overwritten with noise still has blocks that are not random.
  package static func looksEncrypted(_ file: ByteFile) throws(SQLiteFileError) -> Bool {
    // Skips a header, which may be unencrypted.
    let start: Int64 = file.size >= Int64(blockLength) + 512 ? 512 : 0
    let count = (file.size - start) / Int64(blockLength)
    guard count > 0 else { return false }
    let taken = min(count, Int64(maxBlocks))
    for index in 0..<taken {
      // The first and the last block are always taken.
      let block = taken == 1 ? 0 : index * (count - 1) / (taken - 1)
      let bytes = try file.bytes(
        at: start + block * Int64(blockLength), count: blockLength)
      guard looksRandom(bytes) else { return false }
    }
    return true
  }
}
