import CLibrary
import SafeFiles
import SafeText

/// The working memory and the temporary file that all sorters of a ``TableFiller`` share. Only one sorter uses the
/// memory at a time. The file has no name, so nothing remains if the process is killed. Where the system offers no such
/// files, the file is unlinked as soon as it is created.
final class WaitingKeys {
  private let path: String
  private let descriptor: Int32
  private(set) var end: Int64 = 0
  /// Working memory in which entries are sorted.
  var sorting = ContiguousArray<KeyEntry>()
  /// The bytes that will be written to the file next.
  private var block = ContiguousArray<UInt8>()

  private static let blockBytes = 64 << 10

  /// Creates the temporary file in the folder of `path`. If it needs a name, its path is `path` with the suffix `-keys`.
  ///
  /// `between` is for tests: the file then has a name, and `between` is called just before the name is removed, after
  /// the check that the name still refers to this file.
  init(
    beside path: String, between: ((_ path: String) -> Void)? = nil
  ) throws(SQLiteWriterError) {
    self.path = path + "-keys"
    let folder = SystemCalls.openFolder(following: PathText.folder(of: path))
    defer { if folder >= 0 { _ = close(folder) } }
    if between == nil {
      let unnamed = SystemCalls.createUnnamed(in: folder)
      if unnamed >= 0 {
        descriptor = unnamed
        return
      }
    }
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

  /// Appends bytes to the file in blocks, until `fill` returns 0. `fill` writes the next bytes to the start of the
  /// array that it receives, and returns their number.
  ///
  /// - Returns: the range of the file that contains all these bytes.
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

  func read(_ offset: Int64, into bytes: inout ContiguousArray<UInt8>, _ range: Range<Int>)
    throws(SQLiteWriterError)
  {
    try NewFile.read(into: &bytes, range, of: descriptor, at: offset, path)
  }
}
