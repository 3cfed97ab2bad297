public import Foundation

/// The content of a write-ahead log, read as <https://sqlite.org/fileformat2.html#walformat> describes. Tests use it to
/// prove what a fixture contains. It shares no code with the reader under test.
public struct WALFile: Sendable {
  /// A frame: a 24-byte header and a page.
  public struct Frame: Sendable {
    /// The number of the page, from 1.
    public let page: UInt32
    /// The size of the database in pages after the commit; 0 for a frame that does not end a transaction.
    public let commit: UInt32
    /// Whether the salts of the frame are those in the header of the log.
    public let isCurrent: Bool
    /// Whether this frame and all frames before it have the right salts and checksums.
    public let isValid: Bool
  }

  /// 0x377f0682 for little-endian checksums, 0x377f0683 for big-endian ones.
  public let magic: UInt32
  /// The page size in bytes.
  public let pageSize: Int
  /// All complete frames in the file, including frames of earlier generations.
  public let frames: [Frame]

  /// Reads the log at a URL.
  public init(_ url: URL) throws {
    let bytes = try Fixtures.bytes(of: url)
    guard bytes.count >= 32 else { throw FixtureError("\(url.path) is no write-ahead log") }
    magic = Self.number(bytes, 0)
    pageSize = Int(Self.number(bytes, 8))
    guard magic & ~1 == 0x377f_0682, (512...65_536).contains(pageSize) else {
      throw FixtureError("\(url.path) is no write-ahead log")
    }
    var frames: [Frame] = []
    var sum: (UInt32, UInt32) = (0, 0)
    Self.add(bytes[0..<24], to: &sum, bigEndian: magic & 1 == 1)
    var valid = sum == (Self.number(bytes, 24), Self.number(bytes, 28))
    for start in Self.frameStarts(bytes.count, pageSize) {
      Self.add(bytes[start..<start + 8], to: &sum, bigEndian: magic & 1 == 1)
      Self.add(bytes[start + 24..<start + 24 + pageSize], to: &sum, bigEndian: magic & 1 == 1)
      let isCurrent = bytes[start + 8..<start + 16].elementsEqual(bytes[16..<24])
      valid =
        valid && isCurrent
        && sum == (Self.number(bytes, start + 16), Self.number(bytes, start + 20))
      frames.append(
        Frame(
          page: Self.number(bytes, start), commit: Self.number(bytes, start + 4),
          isCurrent: isCurrent, isValid: valid))
    }
    self.frames = frames
  }

  /// Changes a log to the form that a big-endian machine writes: sets the other magic number, and recomputes the
  /// checksums of the current frames.
  public static func useBigEndianChecksums(in path: String) throws {
    let url = URL(fileURLWithPath: path)
    var bytes = try Fixtures.bytes(of: url)
    guard bytes.count >= 32 else { throw FixtureError("\(path) is no write-ahead log") }
    let pageSize = Int(number(bytes, 8))
    put(0x377f_0683, &bytes, 0)
    var sum: (UInt32, UInt32) = (0, 0)
    add(bytes[0..<24], to: &sum, bigEndian: true)
    put(sum.0, &bytes, 24)
    put(sum.1, &bytes, 28)
    for start in frameStarts(bytes.count, pageSize) {
      guard bytes[start + 8..<start + 16].elementsEqual(bytes[16..<24]) else { break }
      add(bytes[start..<start + 8], to: &sum, bigEndian: true)
      add(bytes[start + 24..<start + 24 + pageSize], to: &sum, bigEndian: true)
      put(sum.0, &bytes, start + 16)
      put(sum.1, &bytes, start + 20)
    }
    try Data(bytes).write(to: url)
  }

  private static func frameStarts(_ count: Int, _ pageSize: Int) -> StrideTo<Int> {
    stride(from: 32, to: max(32, count - pageSize - 23), by: pageSize + 24)
  }

  private static func add(
    _ bytes: ArraySlice<UInt8>, to sum: inout (UInt32, UInt32), bigEndian: Bool
  ) {
    func word(_ at: Int) -> UInt32 {
      let big = number(bytes, at)
      return bigEndian ? big : big.byteSwapped
    }
    for start in stride(from: bytes.startIndex, to: bytes.endIndex, by: 8) {
      sum.0 &+= word(start) &+ sum.1
      sum.1 &+= word(start + 4) &+ sum.0
    }
  }

  private static func number(_ bytes: [UInt8], _ at: Int) -> UInt32 {
    number(bytes[...], at)
  }

  private static func number(_ bytes: ArraySlice<UInt8>, _ at: Int) -> UInt32 {
    (0..<4).reduce(0) { $0 << 8 | UInt32(bytes[at + $1]) }
  }

  private static func put(_ number: UInt32, _ bytes: inout [UInt8], _ at: Int) {
    for offset in 0..<4 {
      bytes[at + offset] = UInt8(truncatingIfNeeded: number >> UInt32(24 - 8 * offset))
    }
  }
}
