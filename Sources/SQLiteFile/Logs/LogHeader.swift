/// The first 32 bytes of a write-ahead log (file format, section 4.1 "WAL File Format").
@usableFromInline package struct LogHeader {
  /// The bits that the two possible magic numbers share. The lowest bit of a magic number is the checksums' byte order.
  package static let magic: UInt32 = 0x377f_0682
  package static let formatVersion: UInt32 = 3_007_000

  @usableFromInline package struct Defect: Error, Equatable {
    package let message: String
  }

  package let pageSize: Int
  package let checkpointSequence: UInt32
  package let salt1: UInt32
  package let salt2: UInt32
  /// The checksum of the log header, from which the checksum of the first frame is continued.
  package let checksum: LogChecksum

  /// Reads a header. `bytes` must start at the first byte of the log.
  package init(parsing bytes: RawSpan) throws(Defect) {
    guard bytes.byteCount >= WriteAheadLog.headerLength else {
      throw Defect(message: "it is shorter than a log header")
    }
    let magic = bytes.uint32(at: 0)
    guard magic & 0xffff_fffe == Self.magic else {
      throw Defect(message: "it does not start with the magic number of a write-ahead log")
    }
    guard bytes.uint32(at: 4) == Self.formatVersion else {
      throw Defect(message: "its format version \(bytes.uint32(at: 4)) is unknown")
    }
    let size = Int(bytes.uint32(at: 8))
    guard DatabaseHeader.isPageSize(size) else {
      throw Defect(message: "its page size \(size) is not valid")
    }
    var sum = LogChecksum(isBigEndian: magic & 1 == 1)
    sum.add(bytes.part(0, 24))
    guard sum.first == bytes.uint32(at: 24), sum.second == bytes.uint32(at: 28) else {
      throw Defect(message: "the header does not match its checksum")
    }
    pageSize = size
    checkpointSequence = bytes.uint32(at: 12)
    salt1 = bytes.uint32(at: 16)
    salt2 = bytes.uint32(at: 20)
    checksum = sum
  }
}
