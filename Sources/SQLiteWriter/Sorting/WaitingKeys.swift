import CLibrary
import SafeFiles
import SafeText

/// What the sorters of a filler share: memory that one of them needs at a time, and a temporary file beside the new
/// one. The file is unlinked as soon as it is made, so that nothing is left of it however the process ends.
final class WaitingKeys {
  private let path: String
  private let descriptor: Int32
  private(set) var end: Int64 = 0
  /// Memory for entries while they are sorted.
  var sorting = ContiguousArray<KeyEntry>()
  /// What is about to be written.
  private var block = ContiguousArray<UInt8>()

  private static let blockBytes = 64 << 10

  /// `between` is for tests: it is called between the check of the name and its removal.
  init(
    beside path: String, between: ((_ path: String) -> Void)? = nil
  ) throws(SQLiteWriterError) {
    self.path = path + "-keys"
    let folder = SystemCalls.openFolder(following: PathText.folder(of: path))
    defer { if folder >= 0 { _ = close(folder) } }
    let name = PathText.lastComponent(of: self.path)
    descriptor = SystemCalls.create(name, in: folder, O_RDWR)
    guard descriptor >= 0 else {
      throw SQLiteWriterError(
        .cannotCreate, "the temporary file for sorting cannot be created", path: self.path,
        systemError: errno)
    }
    let whole = self.path
    guard let made = FileStatus.found(descriptor) else { return }
    _ = SafeRemoval.remove(name, in: folder) { now in
      let found = FileStatus.found(now, in: folder)
      if PathText.isSame(now, name) { between?(whole) }
      return found?.isSameFile(as: made) == true
    }
  }

  deinit { _ = close(descriptor) }

  var lost: SQLiteWriterError {
    SQLiteWriterError(.inputOutput, "the temporary file for sorting cannot be read", path: path)
  }

  /// Appends to the file what `fill` writes to the start of the memory that it gets. `fill` returns the number of
  /// bytes, and 0 at the end.
  ///
  /// - Returns: the range in the file.
  func append(
    _ fill: (inout ContiguousArray<UInt8>) throws(SQLiteWriterError) -> Int
  ) throws(SQLiteWriterError) -> Range<Int64> {
    let start = end
    if block.isEmpty { block = ContiguousArray(repeating: 0, count: Self.blockBytes) }
    while true {
      let count = try fill(&block)
      guard count > 0 else { return start..<end }
      try NewFile.put(block, count, to: descriptor, at: end, path)
      end += Int64(count)
    }
  }

  /// Fills a range of `bytes` from the file.
  func read(_ offset: Int64, into bytes: inout ContiguousArray<UInt8>, _ range: Range<Int>)
    throws(SQLiteWriterError)
  {
    try NewFile.read(into: &bytes, range, of: descriptor, at: offset, path)
  }
}
