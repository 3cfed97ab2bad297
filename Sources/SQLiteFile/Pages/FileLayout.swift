/// The properties of a file that must be known before its pages can be read. Each property follows from the database
/// header, the pages or the log (see ``Source``).
package struct FileLayout: Sendable, Equatable {
  package enum Source: String, Sendable {
    /// The database header, if nothing contradicts it.
    case header
    /// The pages themselves.
    case pages
    /// The write-ahead log.
    case log
    /// SQLite's default is assumed, because nothing in the file shows the value.
    case assumed
  }

  /// The page size in bytes.
  package var pageSize: Int
  /// The number of reserved bytes at the end of each page, which have no content.
  package var reservedBytes: Int
  package var textEncoding: DatabaseHeader.TextEncoding
  /// The offset of page 1 in the file, in bytes: usually 0, positive if other bytes precede page 1, negative if the
  /// start of the file is cut off.
  package var origin: Int64
  /// Whether the file has pointer-map pages (file format, section 1.8).
  package var hasPointerMap: Bool
  /// The database header on page 1; nil when it is not readable.
  package var header: DatabaseHeader?
  /// A database header that is valid but that the pages contradict; usually nil.
  package var refusedHeader: DatabaseHeader?
  /// The position in the middle of the file at which bytes were lost or inserted; usually nil.
  package var shift: PageShift?
  package var pageSizeSource: Source
  package var encodingSource: Source

  /// The size of the database in pages according to its header; 0 if the header does not give a valid size. A truncated
  /// file has fewer pages.
  package var statedPageCount: UInt32 {
    header.map { $0.isPageCountValid ? $0.pageCount : 0 } ?? 0
  }

  package init(
    pageSize: Int, reservedBytes: Int, textEncoding: DatabaseHeader.TextEncoding, origin: Int64,
    hasPointerMap: Bool, header: DatabaseHeader? = nil, refusedHeader: DatabaseHeader? = nil,
    shift: PageShift? = nil, pageSizeSource: Source, encodingSource: Source
  ) {
    self.pageSize = pageSize
    self.reservedBytes = reservedBytes
    self.textEncoding = textEncoding
    self.origin = origin
    self.hasPointerMap = hasPointerMap
    self.header = header
    self.refusedHeader = refusedHeader
    self.shift = shift
    self.pageSizeSource = pageSizeSource
    self.encodingSource = encodingSource
  }

  /// The number of bytes of a page that can have content: the page size minus the reserved bytes.
  package var usableSize: Int { pageSize - reservedBytes }
}
