/// An archive that is being written part by part, such as a zip file.
///
/// What writes archives is above this target; who asks for a workbook hands one in.
package protocol PartArchive: AnyObject {
  /// Begins a part. Several may be open at a time; a part is in the archive when it has ended.
  ///
  /// - Parameters:
  ///   - name: the name within the archive.
  ///   - count: how many parts will be open at most, for a fair share of memory.
  /// - Returns: the part, to be filled.
  /// - Throws: an error of the output.
  func begin(_ name: String, among count: Int) throws(ExtractionError) -> any ArchivePart

  /// Ends the archive and gives it its name.
  ///
  /// - Throws: an error of the output; nothing has the name then.
  func finish() throws(ExtractionError)

  /// Removes what was written, unless it is finished.
  func cancel()
}

/// A part of an archive that is being written.
package protocol ArchivePart: AnyObject {
  /// Adds bytes.
  ///
  /// - Throws: an error of the output.
  func append(_ bytes: RawSpan) throws(ExtractionError)

  /// Ends the part.
  ///
  /// - Throws: an error of the output.
  func end() throws(ExtractionError)
}
