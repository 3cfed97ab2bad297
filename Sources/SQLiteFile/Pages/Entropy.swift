/// How random bytes look.
package enum Entropy {
  /// Whether at least 4 KiB of bytes are spread as evenly as encrypted ones are.
  ///
  /// A chi-squared test over the 256 byte values: for random bytes the sum is near 255 with a deviation of
  /// about 23; text, code and databases are thousands away.
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

  /// Bytes that are judged together: enough for the test, and no more than most pages have.
  private static let blockLength = 4096
  private static let mostBlocks = 64

  /// Whether a file is random all through, as an encrypted one is: every one of up to 64 blocks spread over it. A
  /// database whose start was overwritten with noise has other blocks.
  package static func looksEncrypted(_ file: ByteFile) throws(SQLiteFileError) -> Bool {
    // Past a header that may stand in the clear.
    let start: Int64 = file.size >= Int64(blockLength) + 512 ? 512 : 0
    let count = (file.size - start) / Int64(blockLength)
    guard count > 0 else { return false }
    let taken = min(count, Int64(mostBlocks))
    for index in 0..<taken {
      // The first and the last block are among them.
      let block = taken == 1 ? 0 : index * (count - 1) / (taken - 1)
      let bytes = try file.bytes(
        at: start + block * Int64(blockLength), count: blockLength)
      guard looksRandom(bytes) else { return false }
    }
    return true
  }
}
