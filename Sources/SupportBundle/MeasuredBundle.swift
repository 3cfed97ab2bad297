/// A ``BundlePlan`` after its first pass, in which the sources of all entries were hashed.
public struct MeasuredBundle: Sendable {
  package let manifest: BundleManifest
  let sources: [BundlePlan.Source]
  /// The total size of all sources in bytes. The archive is smaller, or at most slightly larger, because the entries
  /// are compressed.
  public let totalBytes: UInt64

  static let cancelled = BundleError(.cancelled, "stopped as asked; nothing was written")

  // MARK: - Second pass

  /// Writes the bundle to a new file. After an error, no file is left behind.
  ///
  /// - Parameters:
  ///   - path: the path of the bundle. No file may exist at this path.
  ///   - level: the compression level of the entries.
  ///   - progress: called with the number of bytes packed so far, and the total number of bytes.
  ///   - isCancelled: called about once per 256 KiB. If it returns true, the work ends with `bundle.cancelled`.
  ///   - making: called with the path of the temporary file and a closure that creates the file and returns whether it
  ///     exists afterwards.
  /// - Returns: the path, the size and the entries of the bundle.
  /// - Throws: `bundle.changedWhileReading` when a source has changed since the first pass; the errors of `ZipWriter`.
  public func write(
    to path: String, level: CompressionLevel = .standard,
    progress: (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in },
    isCancelled: () -> Bool = { false },
    making: (String, () -> Bool) -> Void = { _ = $1() }
  ) throws(BundleError) -> ZipWriter.Receipt {
    let writer = try ZipWriter(path: path, level: level, making: making)
    return try write(to: writer, progress: progress, isCancelled: isCancelled)
  }

  /// Packs the bundle into a temporary file, which does not have the name `path` yet.
  /// ``PackedBundle/publish(isCancelled:making:)`` gives the file this name. If `path` is nil, the file never gets a
  /// name, and cannot be published.
  package func packed(
    for path: String?, level: CompressionLevel = .standard, encryption: BundleEncryption? = nil,
    progress: (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in },
    isCancelled: () -> Bool = { false }, making: (String, () -> Bool) -> Void = { _ = $1() }
  ) throws(BundleError) -> PackedBundle {
    let writer =
      if let path {
        try ZipWriter(path: path, isUnnamed: encryption != nil, level: level, making: making)
      } else {
        ZipWriter(try ExclusiveOutput(unnamed: "bundle"), level: level)
      }
    let file = try pack(into: writer, progress: progress, isCancelled: isCancelled)
    return PackedBundle(writer, file, encryption)
  }

  func write(
    to writer: ZipWriter, progress: (UInt64, UInt64) -> Void = { _, _ in },
    isCancelled: () -> Bool = { false }
  ) throws(BundleError) -> ZipWriter.Receipt {
    let file = try pack(into: writer, progress: progress, isCancelled: isCancelled)
    do throws(BundleError) {
      try PackedBundle.check(file, writer.threshold)
    } catch {
      writer.cancel()
      throw error
    }
    return try writer.publish()
  }

  private func pack(
    into writer: ZipWriter, progress: (UInt64, UInt64) -> Void = { _, _ in },
    isCancelled: () -> Bool
  ) throws(BundleError) -> InputFile {
    do throws(BundleError) {
      var done: UInt64 = 0
      try writer.add(name: BundleManifest.entryName, bytes: manifest.json())
      for (listed, source) in zip(manifest.entries, sources) {
        let opened = try source.open()
        guard opened.size == listed.sizeBytes else { throw changed(listed, source) }
        let written = try writer.add(name: listed.name, from: opened) {
          (count) throws(BundleError) in
          if isCancelled() { throw Self.cancelled }
          done += count
          progress(done, totalBytes)
        }
        guard written.sha256 == listed.sha256 else { throw changed(listed, source) }
      }
      if isCancelled() { throw Self.cancelled }
      return try writer.end(comment: BundleSeal.comment)
    } catch {
      writer.cancel()
      throw error
    }
  }

  private func changed(
    _ entry: BundleManifest.Entry, _ source: BundlePlan.Source
  ) -> BundleError {
    BundleError(
      .changedWhileReading, "the source changed between hashing and packing", path: source.path,
      entry: entry.name)
  }
}
