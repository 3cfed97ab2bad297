/// A file in an archive, as the archive announces it.
protocol ArchiveEntry {
  /// The name, checked as `ZipNames` does; a folder's name ends with `/`.
  var name: String { get }
  /// The announced size in bytes.
  var size: UInt64 { get }
  /// Whether the entry is a link or a sparse file, whose bytes are not the content of a file.
  var isLink: Bool { get }
}

extension ArchiveEntry {
  var isFolder: Bool { ZipNames.isFolder(name) }
}

/// An archive of files that may have been made to do harm.
protocol ArchiveReader {
  associatedtype Entry: ArchiveEntry
  /// The path that was opened.
  var path: String { get }
  /// The size of the archive in bytes.
  var size: UInt64 { get }
  /// All entries, with different names.
  var entries: [Entry] { get }

  /// Returns the first bytes of an entry, at most `count`, without a look at the rest.
  func lead(of entry: Entry, count: Int) throws(BundleError) -> [UInt8]

  /// Hands the bytes of an entry to `sink`, in pieces. There are never more bytes than announced.
  func unpack(_ entry: Entry, into sink: (ArraySlice<UInt8>) throws -> Void) throws
}

extension ZipReader.Entry: ArchiveEntry {}

extension ZipReader: ArchiveReader {
  func unpack(_ entry: Entry, into sink: (ArraySlice<UInt8>) throws -> Void) throws {
    try read(entry, into: sink)
  }
}
