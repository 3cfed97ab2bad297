package import StoreExtraction

/// A zip archive that an export writes part by part. Each `BundleError` of the archive is thrown as an
/// `ExtractionError`.
package final class ZippedParts: PartArchive {
  private let writer: ZipWriter
  private let made: MadeFiles

  /// Starts an archive at `path`, where no file may exist yet. The temporary files of the archive are added to `made`,
  /// so that an interrupted run can remove them.
  package init(_ path: String, _ made: MadeFiles) throws(ExtractionError) {
    self.made = made
    writer = try Self.naming { () throws(BundleError) in
      try ZipWriter(path: path, making: made.making)
    }
  }

  package func begin(_ name: String, among count: Int) -> any ArchivePart {
    Part(writer.begin(name, among: count, making: made.making), writer)
  }

  package func finish() throws(ExtractionError) {
    _ = try Self.naming { () throws(BundleError) in try writer.finish() }
  }

  package func cancel() { writer.cancel() }

  private final class Part: ArchivePart {
    private let entry: PackedEntry
    private let writer: ZipWriter

    init(_ entry: PackedEntry, _ writer: ZipWriter) {
      self.entry = entry
      self.writer = writer
    }

    func append(_ bytes: RawSpan) throws(ExtractionError) {
      // `naming` is not used here, because its closure cannot borrow the span.
      do throws(BundleError) { try entry.append(bytes) } catch { throw ZippedParts.error(error) }
    }

    func end() throws(ExtractionError) {
      _ = try ZippedParts.naming { () throws(BundleError) in try writer.add(entry) }
    }
  }

  private static func naming<T>(_ body: () throws(BundleError) -> T) throws(ExtractionError) -> T {
    do throws(BundleError) { return try body() } catch { throw Self.error(error) }
  }

  private static func error(_ error: BundleError) -> ExtractionError {
    let code: ExtractionError.Code =
      switch error.code {
      case .outputExists: .outputExists
      case .cannotCreate, .permissionDenied, .inputMissing: .cannotCreate
      default: .writeFailed
      }
    return ExtractionError(code, error.message, path: error.path)
  }
}
