import CLibrary

/// Appends pages to a file after the pages that SQLite has written, and writes the pointer-map entries of the appended
/// pages.
///
/// The content of the file is trusted, because this process has just created the file.
struct AppendedPages: ~Copyable {
  /// The type of a page, as its entry in the pointer map stores it (file format, section 1.8).
  enum Role: UInt8 {
    /// The first page of an overflow chain. Its parent is the b-tree page that contains the cell.
    case overflowHead = 3
    /// A later page of an overflow chain. Its parent is the previous page of the chain.
    case overflow = 4
    /// A b-tree page other than the root page. Its parent is the b-tree page that contains the pointer to it.
    case tree = 5
  }

  let pageSize: Int
  private let path: String
  private var descriptor: Int32
  private let hasPointerMap: Bool
  private let maxPages: UInt32
  /// The number of the lock-byte page, which contains the byte at offset 1 GiB and is never used (file format, section
  /// 1.4).
  private let lockPage: UInt32
  /// The number of the last page, whether it is already in the file or only in ``buffer``.
  private(set) var last: UInt32
  private var buffer = ContiguousArray<UInt8>()
  private var maps: [UInt32: ContiguousArray<UInt8>] = [:]

  private static let bufferBytes = 256 << 10
  /// The maximum number of pointer-map pages that are held in memory. A pointer-map page has an entry of five bytes for
  /// each page that it describes.
  private static let maxMaps = 32

  /// Opens a file. SQLite must have no lock on the file, and no transaction may be open.
  init(to file: NewFile, _ options: SQLiteWriter.Options) throws(SQLiteWriterError) {
    path = file.path
    pageSize = options.pageSize
    hasPointerMap = options.autoVacuum != .none
    lockPage = UInt32((1 << 30) / pageSize + 1)
    maxPages = options.maxPages.flatMap { UInt32(exactly: $0) } ?? 0xffff_fffe
    let size: Int64
    (descriptor, size) = try file.opened(O_RDWR)
    last = UInt32(clamping: size / Int64(pageSize))
    buffer.reserveCapacity(Self.bufferBytes + pageSize)
  }

  deinit { if descriptor >= 0 { _ = close(descriptor) } }

  /// Returns the number that a page will have if it is appended after `count` other new pages.
  func upcoming(after count: Int = 0) -> UInt32 {
    var number = last
    for _ in 0...count {
      repeat { number += 1 } while isReserved(number)
    }
    return number
  }

  /// Appends a page and returns its number. Skips numbers that are reserved for the pointer map or the lock byte.
  ///
  /// `write`: appends the bytes of the page to the buffer.
  mutating func append(_ write: (inout ContiguousArray<UInt8>) -> Void)
    throws(SQLiteWriterError) -> UInt32
  {
    while isReserved(last + 1) {
      buffer.append(contentsOf: repeatElement(0, count: pageSize))
      last += 1
    }
    guard last < maxPages else {
      throw SQLiteWriterError(
        .full, "the new file would have more than \(maxPages) pages", path: path)
    }
    write(&buffer)
    last += 1
    if buffer.count >= Self.bufferBytes { try flush() }
    return last
  }

  /// Overwrites a page that is already in the file.
  mutating func replace(_ page: UInt32, by bytes: ContiguousArray<UInt8>) throws(SQLiteWriterError)
  {
    try put(bytes, at: Int64(page - 1) * Int64(pageSize))
  }

  /// Writes the pointer-map entry of a page, if the file has a pointer map.
  mutating func note(_ page: UInt32, as role: Role, of parent: UInt32) throws(SQLiteWriterError) {
    guard hasPointerMap else { return }
    let map = mapPage(for: page)
    if maps[map] == nil {
      if maps.count >= Self.maxMaps { try flushMaps() }
      maps[map] = try read(map)
    }
    let place = 5 * Int(page - map - 1)
    maps[map]?[place] = role.rawValue
    maps[map]?.set(parent, at: place + 1)
  }

  /// Writes the buffered pages, updates the change counter and the page count in the database header (file format,
  /// sections 1.3.6, 1.3.7 and 1.3.16), and closes the file.
  mutating func finish() throws(SQLiteWriterError) {
    try flush()
    try flushMaps()
    var header = try read(1)
    var changes: UInt32 = 0
    for index in 24..<28 { changes = changes << 8 | UInt32(header[index]) }
    changes &+= 1
    for (place, value) in [(24, changes), (28, last), (92, changes)] {
      header.set(value, at: place)
    }
    try put(header, at: 0)
    // The descriptor is closed before SQLite locks the file again, because closing it releases SQLite's locks.
    _ = close(descriptor)
    descriptor = -1
  }

  // MARK: - Internals

  private func isReserved(_ page: UInt32) -> Bool {
    page == lockPage || hasPointerMap && mapPage(for: page) == page
  }

  /// Returns the number of the pointer-map page that contains the entry of a page. For a pointer-map page, it is the
  /// page's own number.
  private func mapPage(for page: UInt32) -> UInt32 {
    let group = UInt32(pageSize / 5 + 1)
    let map = (page - 2) / group * group + 2
    return map == lockPage ? map + 1 : map
  }

  private mutating func flush() throws(SQLiteWriterError) {
    guard !buffer.isEmpty else { return }
    let end = Int64(last) * Int64(pageSize)
    try put(buffer, at: end - Int64(buffer.count))
    buffer.removeAll(keepingCapacity: true)
  }

  private mutating func flushMaps() throws(SQLiteWriterError) {
    try flush()
    for (page, bytes) in maps { try replace(page, by: bytes) }
    maps.removeAll(keepingCapacity: true)
  }

  private mutating func read(_ page: UInt32) throws(SQLiteWriterError) -> ContiguousArray<UInt8> {
    try flush()
    return try NewFile.bytes(
      pageSize, of: descriptor, at: Int64(page - 1) * Int64(pageSize), path)
  }

  private func put(_ bytes: ContiguousArray<UInt8>, at offset: Int64) throws(SQLiteWriterError) {
    try NewFile.put(bytes, to: descriptor, at: offset, path)
  }
}
