extension FixedWidthInteger {
  /// The bytes of the number in the order in which SQLite stores numbers: the most significant byte first.
  public var bigEndianBytes: [UInt8] {
    (1...bitWidth / 8).map { UInt8(truncatingIfNeeded: self >> (bitWidth - 8 * $0)) }
  }
}
