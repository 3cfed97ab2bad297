/// What must be known of a file before its pages can be read, each fact by vote of all that can testify.
public struct FileLayout: Sendable, Equatable {
  /// Who decided a fact.
  public enum Source: String, Sendable {
    /// The file's header, and nothing contradicts.
    case header
    /// The pages themselves.
    case pages
    /// The write-ahead log.
    case log
    /// Nobody; the default of SQLite's.
    case assumed
  }

  /// Bytes in a page.
  public internal(set) var pageSize: Int
  /// Bytes at the end of each page that hold no content.
  public internal(set) var reservedBytes: Int
  /// The encoding of all text.
  public internal(set) var textEncoding: DatabaseHeader.TextEncoding
  /// Offset of page 1 in the file: 0 as a rule, more where something stands before it, less where the head is
  /// cut off.
  public internal(set) var origin: Int64
  /// Whether the file has pointer-map pages (file format, section 1.8).
  public internal(set) var hasPointerMap: Bool
  /// The header of page 1; nil when it is not readable.
  public internal(set) var header: DatabaseHeader?
  /// A header that reads well and that the pages contradict; nil as a rule.
  public internal(set) var refusedHeader: DatabaseHeader?
  /// Where bytes were lost or put in in the middle; nil as a rule.
  var shift: PageShift?
  /// Who decided the page size.
  public internal(set) var pageSizeSource: Source
  /// Who decided the encoding.
  public internal(set) var encodingSource: Source

  /// Bytes of a page that hold content.
  public var usableSize: Int { pageSize - reservedBytes }
}
