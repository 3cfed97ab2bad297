/// What must be known about a file before its pages can be read. Header, pages and log vote on each fact.
package struct FileLayout: Sendable, Equatable {
  /// What decided a fact of the layout.
  package enum Source: String, Sendable {
    /// The file's header, which nothing contradicts.
    case header
    /// The pages themselves.
    case pages
    /// The write-ahead log.
    case log
    /// Nothing: the value is SQLite's default.
    case assumed
  }

  /// Bytes in a page.
  package var pageSize: Int
  /// Bytes at the end of each page that hold no content.
  package var reservedBytes: Int
  /// The encoding of all text.
  package var textEncoding: DatabaseHeader.TextEncoding
  /// Offset of page 1 in the file: usually 0, positive when other bytes precede it, negative when the start of the file
  /// is cut off.
  package var origin: Int64
  /// Whether the file has pointer-map pages (file format, section 1.8).
  package var hasPointerMap: Bool
  /// The header of page 1; nil when it is not readable.
  package var header: DatabaseHeader?
  /// A header that is valid but contradicted by the pages; usually nil.
  package var refusedHeader: DatabaseHeader?
  /// Where bytes were lost or inserted in the middle of the file; usually nil.
  package var shift: PageShift?
  /// What decided the page size.
  package var pageSizeSource: Source
  /// What decided the encoding.
  package var encodingSource: Source

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

  /// Bytes of a page that hold content.
  package var usableSize: Int { pageSize - reservedBytes }
}
