/// The maximum counts and sizes that the headers of a zip archive may announce. An archive that exceeds a limit is
/// refused, because even a small archive could otherwise fill the memory or the disk.
public struct ZipLimits: Sendable, Equatable {
  /// The maximum number of entries, including folders.
  public var entryCount: Int
  /// The maximum size of the central directory in bytes. The directory is kept in memory.
  public var directoryBytes: Int
  /// The maximum uncompressed size of one entry in bytes.
  public var entryBytes: UInt64
  /// The maximum uncompressed size of all entries together in bytes.
  public var totalBytes: UInt64

  /// Makes limits. The defaults are large enough for any bundle that can be sent: 100,000 entries, 64 MiB for the
  /// central directory, 64 GiB for one entry and 128 GiB for all entries.
  public init(
    entryCount: Int = 100_000, directoryBytes: Int = 64 << 20, entryBytes: UInt64 = 64 << 30,
    totalBytes: UInt64 = 128 << 30
  ) {
    self.entryCount = entryCount
    self.directoryBytes = directoryBytes
    self.entryBytes = entryBytes
    self.totalBytes = totalBytes
  }
}
