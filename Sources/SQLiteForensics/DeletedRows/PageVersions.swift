import SQLiteFile

/// A version of a page that is not the live version, and where this version is stored.
struct PageVersion: Equatable {
  enum Origin: Equatable {
    /// A committed version that a later commit in the log has replaced. `commit` is the number of the commit that wrote
    /// this version to the log, counted from 1; 0 if this version is in the main file.
    case superseded(commit: Int)
    /// A version of the page that an uncommitted transaction wrote to the log or to the main file. If the version is in
    /// the main file, the rollback journal contains the page from before the transaction.
    case uncommitted
    /// A version from a frame of the log that SQLite ignores, because the frame is older than the last restart of the
    /// log, or comes after the last valid frame.
    case stale
    /// The content of the page before a transaction, as stored in the rollback journal.
    case beforeImage
  }

  let page: UInt32
  let member: Finding.Member
  /// The offset of the version's page content in the file ``member``, in bytes.
  let offset: Int64
  package let origin: Origin
  /// Whether the bytes of the version match their checksum in the log or the rollback journal. Always false for a
  /// version in the main file, because the main file has no checksums.
  package let isVerified: Bool
}

/// A list of page versions that takes 16 bytes for each version.
struct PageVersions: RandomAccessCollection, Equatable {
  private struct Packed: BitwiseCopyable, Equatable {
    let page: UInt32
    /// From the highest bit: three bits for ``PageVersion/origin``, one bit for ``PageVersion/isVerified``, and 28 bits
    /// for the commit number.
    let state: UInt32
    /// From the highest bit: two bits for ``PageVersion/member``, and 62 bits for ``PageVersion/offset``.
    let place: UInt64
  }

  private static let highestCommit = 1 << 28 - 1
  private var packed = ContiguousArray<Packed>()

  init() {}

  var startIndex: Int { 0 }
  var endIndex: Int { packed.count }

  mutating func append(_ version: PageVersion) {
    let kind: UInt32
    var commit = 0
    switch version.origin {
    case .superseded(let number):
      kind = 0
      commit = number
    case .uncommitted: kind = 1
    case .stale: kind = 2
    case .beforeImage: kind = 3
    }
    let member: UInt64 =
      switch version.member {
      case .main: 0
      case .wal: 1
      case .journal: 2
      }
    let number = UInt32(Swift.min(Swift.max(0, commit), Self.highestCommit))
    packed.append(
      Packed(
        page: version.page, state: kind << 29 | (version.isVerified ? 1 << 28 : 0) | number,
        place: member << 62 | UInt64(Swift.max(0, version.offset)) & (1 << 62 - 1)))
  }

  subscript(index: Int) -> PageVersion {
    let entry = packed[index]
    let origin: PageVersion.Origin =
      switch entry.state >> 29 {
      case 0: .superseded(commit: Int(entry.state & (1 << 28 - 1)))
      case 1: .uncommitted
      case 2: .stale
      default: .beforeImage
      }
    let member: Finding.Member =
      switch entry.place >> 62 {
      case 0: .main
      case 1: .wal
      default: .journal
      }
    return PageVersion(
      page: entry.page, member: member, offset: Int64(entry.place & (1 << 62 - 1)),
      origin: origin, isVerified: entry.state >> 28 & 1 == 1)
  }
}
