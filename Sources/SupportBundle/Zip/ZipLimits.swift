/// How much an archive may announce before it is refused, so that a small file cannot fill memory or a disk.
public struct ZipLimits: Sendable, Equatable {
  /// The most entries, folders included.
  public var entryCount: Int
  /// The most bytes of the central directory, which is held in memory.
  public var directoryBytes: Int
  /// The most uncompressed bytes of one entry.
  public var entryBytes: UInt64
  /// The most uncompressed bytes of all entries together.
  public var totalBytes: UInt64

  /// Makes limits. The defaults fit any support bundle that can still be sent: 100,000 entries, 64 MiB of directory, 64
  /// GiB for one entry and 128 GiB for all.
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
