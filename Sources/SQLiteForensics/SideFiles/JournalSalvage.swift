import SQLiteFile
import SafeText

/// All page images in a rollback journal, whether or not its headers are intact.
///
/// In journal mode PERSIST (and DELETE, under an exclusive lock), SQLite zeroes the first header at the end of a
/// transaction. Damage can also zero the header of an unfinished transaction. In both cases the records remain, and the
/// nonce of each record can be computed. The nonce is the stored checksum of the record less the sum of every 200th
/// byte of the page (file format, section 3). All records of a segment have the same nonce.
struct JournalSalvage {
  /// Whether the last transaction in the journal was finished, and whether the journal's header is intact.
  enum Verdict: String {
    /// The header is intact, so SQLite itself would roll the transaction back.
    case hot
    /// The transaction was finished, so the journal contains only older versions of pages.
    case finished
    /// The header is lost, and the transaction was not finished, so it must be rolled back.
    case headerLost
    /// The header is lost, and nothing shows whether the transaction was finished.
    case undecided
  }

  /// A page as it was before a transaction.
  struct Image: BitwiseCopyable {
    let page: UInt32
    /// The age of the image, in transactions: 0 if the last transaction wrote the image to the journal, 1 if the
    /// transaction before the last one wrote it, and so on. Older images come later in the file.
    let age: UInt16
    /// Whether the record of the image matches its checksum. The checksum covers only every 200th byte.
    var isVerified: Bool
    /// The offset of the page's content, in bytes from the start of the journal.
    let offset: Int64
  }

  package let verdict: Verdict
  /// The page size in bytes; 0 if neither a header nor a record is recognised.
  let pageSize: Int
  /// The page images of all recognised records, in the order of the file.
  let images: ContiguousArray<Image>
  /// The size of the database in pages before the last transaction; nil when this size is not known.
  private(set) var databasePageCount: UInt32?
  /// For each page that must be rolled back, by page number: the offset of its image, in bytes from the start of the
  /// journal. Empty if the transaction need not be rolled back.
  package private(set) var pageOffsets: [UInt32: Int64] = [:]
  private(set) var findings: [Finding]

  /// Reads a journal once, from start to end.
  ///
  /// - Parameters:
  ///   - file: the journal.
  ///   - main: the main file of the database. Its page 1 is compared with page 1 in the journal, to find out whether
  ///     the last transaction was finished.
  ///   - expected: the page size of the database.
  ///   - origin: the offset of page 1 in the main file, in bytes.
  /// - Throws: ``SQLiteFileError`` when a device fails.
  init(
    _ file: ByteFile, main: ByteFile, pageSize expected: Int, origin: Int64
  ) throws(SQLiteFileError) {
    let plain = try RollbackJournal(parsing: file, mainSize: main.size)
    let scanned = try JournalScan.scan(
      file, expected: plain.state == .hot ? plain.pageSize : expected,
      pageLimit: PageNumberLimit.highest(
        mainSize: main.size, sideSize: file.size, pageSize: max(512, expected)))
    images = scanned?.images ?? []
    pageSize = scanned?.pageSize ?? plain.pageSize
    findings = plain.findings
    if plain.state == .hot {
      verdict = .hot
      databasePageCount = plain.databasePageCount
      pageOffsets = plain.pageOffsets
      return
    }
    guard let scanned, plain.state != .superseded else {
      verdict = .finished
      return
    }
    let judge = JournalJudge(file, main, origin, scanned)
    verdict = try judge.verdict()
    databasePageCount = try judge.databasePageCount()
    if verdict == .headerLost {
      for image in scanned.images where image.age == 0 && image.isVerified {
        if let databasePageCount, image.page > databasePageCount { continue }
        pageOffsets[image.page] = image.offset
      }
      findings.append(
        Finding(
          .journalHeaderLost,
          "the journal's header is lost and its transaction was not finished; \(counted(pageOffsets.count, "page is read as it was", "pages are read as they were")) before the transaction",
          member: .journal, offset: 0))
    } else if verdict == .undecided {
      findings.append(
        Finding(
          .journalUndecided,
          "the journal's header is zero and nothing shows whether its transaction was finished; the main file is read without the journal",
          member: .journal, offset: 0))
    }
  }
}

/// Decides whether the transaction of a journal without a header was finished.
///
/// A transaction first copies page 1 to the journal, and its commit writes page 1 with a new change counter to the main
/// file. So if page 1 has the same change counter in the journal and in the main file, the transaction was not
/// finished.
///
/// Under an exclusive lock, a transaction can leave page 1 unchanged. A commit first syncs all segments of the journal,
/// then writes all pages to the main file. So the transaction is unfinished if its last segment was never synced, or if
/// a page of the main file still equals its image in the journal.
struct JournalJudge {
  private let file: ByteFile
  private let main: ByteFile
  /// The offset of page 1 in ``main``, in bytes.
  private let origin: Int64
  private let scanned: JournalScan.Result

  init(_ file: ByteFile, _ main: ByteFile, _ origin: Int64, _ scanned: JournalScan.Result) {
    self.file = file
    self.main = main
    self.origin = origin
    self.scanned = scanned
  }

  /// Whether a page of the main file equals its image in the journal.
  private func isInMain(_ image: JournalSalvage.Image) throws(SQLiteFileError) -> Bool {
    let size = scanned.pageSize
    let there = try main.bytes(at: origin + (Int64(image.page) - 1) * Int64(size), count: size)
    return try there == file.bytes(at: image.offset, count: size)
  }

  /// The image of page 1 from before the last transaction; nil when the journal does not contain page 1.
  private var pageOne: JournalSalvage.Image? {
    scanned.images.first { $0.age == 0 && $0.isVerified && $0.page == 1 }
  }

  func verdict() throws(SQLiteFileError) -> JournalSalvage.Verdict {
    guard scanned.images.contains(where: { $0.age == 0 && $0.isVerified }) else {
      return .finished
    }
    guard let now = try main.databaseHeader(at: origin), now.pageSize == scanned.pageSize else {
      return .undecided
    }
    if let pageOne {
      guard let before = try file.databaseHeader(at: pageOne.offset) else { return .undecided }
      guard before.changeCounter == now.changeCounter else { return .finished }
      return try isUndone() ? .finished : .headerLost
    }
    if try isUndone() { return .finished }
    if scanned.endsUnsynced { return .headerLost }
    for image in scanned.images.reversed() where image.age == 0 && image.isVerified {
      if try isInMain(image) { return .headerLost }
    }
    return .undecided
  }

  /// Whether a ROLLBACK has already undone the last transaction: the main file has its size from before the
  /// transaction, and each page of the transaction in the journal equals the page in the main file.
  private func isUndone() throws(SQLiteFileError) -> Bool {
    guard let count = try databasePageCount(),
      main.size - origin == Int64(count) * Int64(scanned.pageSize)
    else { return false }
    for image in scanned.images where image.age == 0 {
      guard image.isVerified, image.page <= count, try isInMain(image) else { return false }
    }
    return true
  }

  /// Returns the size of the database in pages before the transaction; nil when no valid size is found. The size comes
  /// from a header of the journal. If all headers are lost, it comes from page 1 in the journal or, if the journal does
  /// not contain page 1, from page 1 in the main file.
  func databasePageCount() throws(SQLiteFileError) -> UInt32? {
    if let count = scanned.databasePageCount { return count }
    let before = try (pageOne == nil ? main : file).databaseHeader(at: pageOne?.offset ?? origin)
    guard let before, before.isPageCountValid else { return nil }
    return before.pageCount
  }
}
