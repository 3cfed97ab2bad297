/// An archive that is being written part by part, such as a zip file.
///
/// The code that writes archives is in a target above this one, so the caller that wants a workbook hands in an
/// archive.
package protocol PartArchive: AnyObject {
  /// Begins a part. Several parts may be open at a time. A part is complete only when it was ended.
  ///
  /// - Parameters:
  ///   - name: the name within the archive.
  ///   - count: how many parts will be open at a time at most; each gets a fair share of memory.
  /// - Returns: the part, to be filled.
  /// - Throws: ``ExtractionError`` when the archive cannot be written.
  func begin(_ name: String, among count: Int) throws(ExtractionError) -> any ArchivePart

  /// Completes the archive and gives it its final name.
  ///
  /// - Throws: ``ExtractionError`` when the archive cannot be written; no file has the final name then.
  func finish() throws(ExtractionError)

  /// Removes what was written, unless the archive is finished.
  func cancel()
}

/// A part of an archive that is being written.
package protocol ArchivePart: AnyObject {
  /// Adds bytes to the part.
  ///
  /// - Throws: ``ExtractionError`` when the archive cannot be written.
  func append(_ bytes: RawSpan) throws(ExtractionError)

  /// Completes the part. No bytes may be added after that.
  ///
  /// - Throws: ``ExtractionError`` when the archive cannot be written.
  func end() throws(ExtractionError)
}
