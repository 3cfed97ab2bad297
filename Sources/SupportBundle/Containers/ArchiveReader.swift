/// An entry of an archive: a file, folder or link, with the name and size that the archive announces.
protocol ArchiveEntry {
  /// The name, which `ZipNames.check` has accepted. The name of a folder ends with `/`.
  var name: String { get }
  /// The announced size in bytes.
  var size: UInt64 { get }
  /// Whether the entry is a link or a sparse file. The bytes of such an entry are not the content of a file.
  var isLink: Bool { get }
}

extension ArchiveEntry {
  var isFolder: Bool { ZipNames.isFolder(name) }
}

/// A reader of an archive. The archive may have been made to do harm.
protocol ArchiveReader {
  associatedtype Entry: ArchiveEntry
  var path: String { get }
  /// The size of the archive file in bytes.
  var size: UInt64 { get }
  /// All files and folders in the archive. No two entries have the same name.
  var entries: [Entry] { get }

  /// Returns up to `count` bytes from the start of an entry, without reading the rest of the entry.
  func lead(of entry: Entry, count: Int) throws(BundleError) -> [UInt8]

  /// Calls `sink` with the bytes of an entry, piece by piece. The pieces together never have more bytes than the
  /// entry's announced size.
  func unpack(_ entry: Entry, into sink: (ArraySlice<UInt8>) throws -> Void) throws
}

extension ZipReader.Entry: ArchiveEntry {}

extension ZipReader: ArchiveReader {
  func unpack(_ entry: Entry, into sink: (ArraySlice<UInt8>) throws -> Void) throws {
    try read(entry, into: sink)
  }
}
