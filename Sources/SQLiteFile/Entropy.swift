/// How random bytes look.
enum Entropy {
  /// Whether at least 4 KiB of bytes are spread as evenly as encrypted ones are.
  ///
  /// A chi-squared test over the 256 byte values: for random bytes the sum is near 255 with a deviation of
  /// about 23; text, code and databases are thousands away.
  static func looksRandom(_ bytes: [UInt8]) -> Bool {
    guard bytes.count >= 4096 else { return false }
    var counts = [Int](repeating: 0, count: 256)
    for byte in bytes { counts[Int(byte)] += 1 }
    let expected = Double(bytes.count) / 256
    let sum = counts.reduce(0.0) {
      $0 + (Double($1) - expected) * (Double($1) - expected) / expected
    }
    return sum < 400
  }
}
