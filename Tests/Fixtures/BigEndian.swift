extension FixedWidthInteger {
  /// The bytes of the number as SQLite stores numbers: the highest first.
  public var bigEndianBytes: [UInt8] {
    (1...bitWidth / 8).map { UInt8(truncatingIfNeeded: self >> (bitWidth - 8 * $0)) }
  }
}
