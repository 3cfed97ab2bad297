import RowText
import SQLiteFile
import SafeText

/// The values of a workbook that no cell holds, each in a file of a folder beside the workbook. The folder is made for
/// the first of them.
final class LongValues {
  /// The path of the folder.
  let path: String
  /// How many files there are, and their bytes together.
  private(set) var fileCount = 0
  private(set) var sizeBytes: Int64 = 0
  private let made: MadeFiles
  private var folder: OutputFolder?

  /// - Parameters:
  ///   - path: the folder.
  ///   - made: notes what is made, for a caller that must remove it.
  init(_ path: String, _ made: MadeFiles) {
    self.path = path
    self.made = made
  }

  /// The folder of long values beside a workbook: `Rows_files` beside `Rows.xlsx`.
  static func folder(beside workbook: String) -> String {
    let own = PathText.lastComponent(of: workbook)
    let folder = PathText.dropping(suffix: own, from: workbook) ?? ""
    return folder + PathText.stem(of: own) + "_files"
  }

  /// Throws when there is something at the path of the folder.
  func checkFree() throws(ExtractionError) {
    let name = PathText.lastComponent(of: path)
    guard let parent = try? OpenFolder(PathText.folder(of: path)),
      parent.status(of: name) != nil
    else { return }
    throw ExtractionError(
      .outputExists,
      "the place of the folder for what no cell holds is taken; move it away, or choose another name",
      path: path)
  }

  /// The folder of the external files, for a report.
  var externalFolder: String { PathText.joined(path, ExternalFiles.folderName) }

  /// The folder, which is made if it is not there yet.
  func opened() throws(ExtractionError) -> OutputFolder {
    if let folder { return folder }
    let folder = try OutputFolder(path, made)
    self.folder = folder
    return folder
  }

  /// What a cell says that stands for a file.
  private func reference(to name: String) -> String {
    "file:" + PathText.joined(PathText.lastComponent(of: path), name)
  }

  /// What a cell says that stands for an external file of the store.
  func reference(toExternal name: String) -> String {
    reference(to: PathText.joined(ExternalFiles.folderName, name))
  }

  /// Writes a value into a file.
  ///
  /// - Parameters:
  ///   - bytes: the value.
  ///   - place: where the value was: the entity, the key and the property, for the file's name.
  ///   - ending: the ending of the file's name; nil to go by the bytes.
  /// - Returns: what the cell says instead.
  /// - Throws: an error of the output.
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

  /// The ending by which people's programs know what the bytes are.
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

  /// Closes what is open, after a run that failed. The caller removes what was made.
  func discard() { folder?.discard() }
}
