/// An archive to which the parts of a workbook are written, for example a zip file. It is a protocol because the code
/// that writes zip files is in a target that depends on this one.
package protocol PartArchive: AnyObject {
  /// Begins a part of the archive. A part is complete after ``ArchivePart/end()``. Several parts may be written at the
  /// same time. Throws when the archive cannot be written.
  ///
  /// `count`: the maximum number of parts that will be written at the same time. These parts share the memory.
  func begin(_ name: String, among count: Int) throws(ExtractionError) -> any ArchivePart

  /// Completes the archive and gives it its final name. Throws when the archive cannot be written. In that case, no
  /// file has the final name.
  func finish() throws(ExtractionError)

  /// Removes what was written. Does nothing if the archive is finished.
  func cancel()
}

/// A part of an archive that is being written.
package protocol ArchivePart: AnyObject {
  /// Adds bytes to the part. Throws when the archive cannot be written.
  func append(_ bytes: RawSpan) throws(ExtractionError)

  /// Completes the part. After that, no more bytes may be added to it. Throws when the archive cannot be written.
  func end() throws(ExtractionError)
}
