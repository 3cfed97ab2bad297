/// The first 100 bytes of a database (file format, section 1.3 "The Database Header").
@usableFromInline package struct DatabaseHeader: Sendable, Equatable {
  @usableFromInline package static let length = 100
  package static let magic: [UInt8] = Array("SQLite format 3\0".utf8)

  @usableFromInline package enum TextEncoding: UInt32, Sendable {
    case utf8 = 1
    /// UTF-16, low byte first.
    case utf16LittleEndian = 2
    /// UTF-16, high byte first.
    case utf16BigEndian = 3

    /// The name of the encoding, as messages show it.
    package var name: String {
      switch self {
      case .utf8: "UTF-8"
      case .utf16LittleEndian: "UTF-16LE"
      case .utf16BigEndian: "UTF-16BE"
      }
    }
  }

  /// The page size in bytes, a power of two from 512 to 65,536 (offset 16, where 1 means 65,536).
  package let pageSize: Int
  /// The number of bytes at the end of each page that SQLite does not use (offset 20).
  package let reservedBytes: Int
  /// The file format write version: 1 for a rollback journal, 2 for WAL (offset 18).
  package let writeVersion: UInt8
  /// The file format read version: 1 for a rollback journal, 2 for WAL (offset 19).
  package let readVersion: UInt8
  /// The file change counter, which each transaction in rollback-journal mode increments (offset 24).
  package let changeCounter: UInt32
  /// The size of the database in pages (offset 28), reliable only if ``isPageCountValid`` is true.
  package let pageCount: UInt32
  /// The number of the first freelist trunk page; 0 when the freelist is empty (offset 32).
  package let firstFreelistTrunk: UInt32
  /// The number of pages on the freelist (offset 36).
  package let freelistPageCount: UInt32
  /// The schema cookie, which each change of the schema increments (offset 40).
  package let schemaCookie: UInt32
  /// The schema format, 1 to 4 (offset 44). SQLite reads only the lowest byte of this field, and treats 0 as 1.
  package let schemaFormat: UInt32
  /// The highest root page number of an auto-vacuum database; 0 in other databases (offset 52).
  package let largestRootPage: UInt32
  /// The encoding in which text is stored (offset 56). SQLite reads only the two lowest bits of this field, and treats
  /// 0 as UTF-8.
  package let textEncoding: TextEncoding
  /// The application's own version number (offset 60).
  package let userVersion: Int32
  /// Whether incremental vacuum is on (offset 64).
  package let isIncrementalVacuum: Bool
  /// The application's identifier (offset 68).
  package let applicationID: UInt32
  /// The change counter at which ``pageCount`` was recorded (offset 92).
  package let versionValidFor: UInt32
  /// The version of SQLite that last wrote the file, as 3040001 for 3.40.1 (offset 96).
  package let sqliteVersion: UInt32

  /// Whether ``pageCount`` was written together with ``changeCounter``. Only then does SQLite use ``pageCount``.
  package var isPageCountValid: Bool { pageCount > 0 && versionValidFor == changeCounter }

  /// Whether the database is an auto-vacuum database, which has pointer-map pages.
  package var hasPointerMap: Bool { largestRootPage != 0 }

  /// The number of bytes of a page that SQLite uses: the page size minus the reserved bytes. At least 480.
  package var usableSize: Int { pageSize - reservedBytes }

  package enum Defect: Error, Equatable {
    case tooShort
    case magic
    case pageSize(Int)
    case usableSize(Int)
    case readVersion(UInt8)
  }

  package static func isPageSize(_ size: Int) -> Bool {
    size >= 512 && size <= 65_536 && size & (size - 1) == 0
  }

  /// Returns all page sizes: `expected`, if it is one, then the others, the most likely first.
  package static func pageSizes(first expected: Int?) -> [Int] {
    let sizes = [4096, 1024, 2048, 8192, 16_384, 32_768, 65_536, 512]
    guard let expected, isPageSize(expected) else { return sizes }
    return [expected] + sizes.filter { $0 != expected }
  }

  /// Reads a header. `bytes` must start at the first byte of page 1.
  package init(parsing bytes: RawSpan) throws(Defect) {
    guard bytes.byteCount >= Self.length else { throw .tooShort }
    for (index, byte) in Self.magic.enumerated() where bytes.byte(at: index) != byte {
      throw .magic
    }
    let stored = Int(bytes.uint16(at: 16))
    let size = stored == 1 ? 65_536 : stored
    guard Self.isPageSize(size) else { throw .pageSize(stored) }
    let reserved = Int(bytes.byte(at: 20))
    guard size - reserved >= 480 else { throw .usableSize(size - reserved) }
    let encoding = bytes.uint32(at: 56)
    // SQLite reads only the two lowest bits of this field, and treats 0 as UTF-8 (`sqlite3InitOne`).
    let textEncoding = TextEncoding(rawValue: encoding & 3) ?? .utf8
    guard bytes.byte(at: 19) <= 2 else { throw .readVersion(bytes.byte(at: 19)) }
    self.init(
      fields: bytes, pageSize: size, reservedBytes: reserved, textEncoding: textEncoding,
      largestRootPage: bytes.uint32(at: 52))
  }

  /// Creates a replacement for a lost or contradicted header. The fields that are needed to read pages come from
  /// `layout`, all other fields from `bytes`, which must have the length of a header.
  package init(_ layout: FileLayout, remains bytes: RawSpan) {
    let stored = bytes.uint32(at: 52)
    self.init(
      fields: bytes, pageSize: layout.pageSize, reservedBytes: layout.reservedBytes,
      textEncoding: layout.textEncoding,
      largestRootPage: layout.hasPointerMap ? max(1, stored) : 0)
  }

  private init(
    fields bytes: RawSpan, pageSize: Int, reservedBytes: Int, textEncoding: TextEncoding,
    largestRootPage: UInt32
  ) {
    self.pageSize = pageSize
    self.reservedBytes = reservedBytes
    self.textEncoding = textEncoding
    self.largestRootPage = largestRootPage
    writeVersion = bytes.byte(at: 18)
    readVersion = bytes.byte(at: 19)
    changeCounter = bytes.uint32(at: 24)
    pageCount = bytes.uint32(at: 28)
    firstFreelistTrunk = bytes.uint32(at: 32)
    freelistPageCount = bytes.uint32(at: 36)
    schemaCookie = bytes.uint32(at: 40)
    schemaFormat = bytes.uint32(at: 44)
    userVersion = Int32(bitPattern: bytes.uint32(at: 60))
    isIncrementalVacuum = bytes.uint32(at: 64) != 0
    applicationID = bytes.uint32(at: 68)
    versionValidFor = bytes.uint32(at: 92)
    sqliteVersion = bytes.uint32(at: 96)
  }
}
