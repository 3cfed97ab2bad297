import RowText
import SQLiteFile
import SafeText

/// The files for values of a workbook that are too long for a cell. Each value has its own file, in a folder beside the
/// workbook. The folder is made for the first such value.
final class LongValues {
  /// The path of the folder beside the workbook.
  let path: String
  private(set) var fileCount = 0
  /// The total size in bytes of the files written so far.
  private(set) var sizeBytes: Int64 = 0
  private let made: MadeFiles
  private var folder: OutputFolder?

  /// Creates the collection of files. The folder at `path` is made when the first file is written.
  init(_ path: String, _ made: MadeFiles) {
    self.path = path
    self.made = made
  }

  /// Returns the path of the folder for long values beside a workbook, for example `Rows_files` beside `Rows.xlsx`.
  static func folder(beside workbook: String) -> String {
    let own = PathText.lastComponent(of: workbook)
    let folder = PathText.dropping(suffix: own, from: workbook) ?? ""
    return folder + PathText.stem(of: own) + "_files"
  }

  func checkFree() throws(ExtractionError) {
    let name = PathText.lastComponent(of: path)
    guard let parent = try? OpenFolder(PathText.folder(of: path)),
      parent.status(of: name) != nil
    else { return }
    throw ExtractionError(
      .outputExists,
      "something already exists at the path of the folder for long values; move it away, or choose another name",
      path: path)
  }

  /// The path of the subfolder for the store's external files.
  var externalFolder: String { PathText.joined(path, ExternalFiles.folderName) }

  /// Returns the folder. Makes it first if it does not exist yet.
  func opened() throws(ExtractionError) -> OutputFolder {
    if let folder { return folder }
    let folder = try OutputFolder(path, made)
    self.folder = folder
    return folder
  }

  /// Returns the text of a cell that stands for a file: `file:` and the file's path relative to the workbook.
  private func reference(to name: String) -> String {
    "file:" + PathText.joined(PathText.lastComponent(of: path), name)
  }

  func reference(toExternal name: String) -> String {
    reference(to: PathText.joined(ExternalFiles.folderName, name))
  }

  /// Writes a value into a file of its own in the folder. Returns the text of the cell that stands for the file.
  ///
  /// `place`: the entity, key and property of the value, as a string. The name of the file is made from this string.
  /// `ending`: the extension of the file name; nil to choose it by the bytes.
  func write(_ bytes: RawSpan, of place: String, _ ending: String?) throws -> String {
    let folder = try opened()
    let name = folder.fileName(for: place, extension: ending ?? Self.ending(of: bytes))
    let descriptor = try folder.create(name)
    var output = OutputBuffer(descriptor: descriptor, isTerminal: false)
    output.append(bytes)
    try output.finish()
    try folder.finish(descriptor)
    fileCount += 1
    sizeBytes += Int64(bytes.byteCount)
    return reference(to: name)
  }

  private static func ending(of bytes: RawSpan) -> String {
    switch BlobContent(bytes.array()) {
    case .image(let type, _, _):
      switch type {
      case "image/png": "png"
      case "image/jpeg": "jpg"
      case "image/gif": "gif"
      default: "bin"
      }
    case .propertyList, .keyedArchive: "plist"
    case .text: "txt"
    default: "bin"
    }
  }

  /// Closes the files that are still open after a run that failed. The caller removes the files and the folder.
  func discard() { folder?.discard() }
}
