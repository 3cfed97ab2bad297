import CLibrary
import CoreDataStore
import ManagedObjects
import RowText
import SQLiteFile
import SafeFiles
import SafeText
import SQLiteWriter
import StoreExtraction

/// Writes the file of rejects, which has the rows that are not in the new store. Each line is a JSON object with the
/// entity, the key, the reason, and the values that the row has in the old store. Rows that were written without some
/// of their values are in the file, too, and are marked `isWritten`. A merge also adds the old rows whose values were
/// not used, and the present rows whose values were replaced. The file is created when the first row is added, and gets
/// its final name when the migration succeeds.
final class RejectedRows {
  private let path: String
  private let made: MadeFiles
  private var file: File?
  /// The name of the store that the next rows come from: `old` or `present`. Nil when there is only one store.
  var store: String?

  private final class File {
    let folder: OpenFolder
    let name: String
    let descriptor: Int32
    var output: OutputBuffer

    init(_ folder: OpenFolder, _ name: String, _ descriptor: Int32) {
      self.folder = folder
      self.name = name
      self.descriptor = descriptor
      output = OutputBuffer(descriptor: descriptor, isTerminal: false)
    }

    deinit { close(descriptor) }
  }

  /// Prepares the file of rejects, which lists the rows that are not in the new store. The file will be beside the new
  /// store, whose path is `output`. Throws if the file exists already.
  init(beside output: String, _ made: MadeFiles) throws {
    path = output + ".rejects.ndjson"
    self.made = made
    if try FileStatus.of(path) != nil {
      throw ExtractionError(
        .outputExists, "a file of rejected rows already exists; choose another name",
        path: path)
    }
  }

  /// Adds a row of a store, and the reason why the row is rejected. `page` is the page on which recovery found the row;
  /// nil for a row of a sound store. `store` is the name of the store if it is not ``store``.
  func add(
    entity: String?, key: Int64?, reason: String,
    values: [(name: String, value: StoredValue)], page: UInt32? = nil, isWritten: Bool = false,
    store: String? = nil
  ) throws {
    let file = try file ?? make()
    file.output.append("{\"entity\":")
    file.output.append(entity.map { JSONLiteral.string($0) } ?? "null")
    file.output.append(",\"pk\":")
    if let key { file.output.append(integer: key) } else { file.output.append("null") }
    file.output.append(",\"reason\":" + JSONLiteral.string(reason))
    if let store = store ?? self.store { file.output.append(",\"store\":\"\(store)\"") }
    if isWritten { file.output.append(",\"isWritten\":true") }
    if let page { file.output.append(",\"page\":\(page)") }
    file.output.append(",\"values\":{")
    for (index, (name, value)) in values.enumerated() {
      if index > 0 { file.output.append(UInt8(ascii: ",")) }
      file.output.append(jsonString: name)
      file.output.append(UInt8(ascii: ":"))
      append(value, to: &file.output)
    }
    file.output.append("}}\n")
    if file.output.isBroken { try file.output.finish() }
  }

  /// Adds a row of a new store, with the values that SQL has returned. `columns` are the names of the columns.
  func add(
    _ row: [SQLiteValue], _ columns: [String], _ layout: TableLayout, _ reason: String,
    store: String? = nil
  ) throws {
    var entity: String?
    var key: Int64?
    for (name, value) in zip(columns, row) {
      guard case .integer(let number) = value else { continue }
      if name == "Z_PK" { key = number }
      if name == "Z_ENT" { entity = layout.numbering.name(of: number) }
    }
    try add(
      entity: entity, key: key, reason: reason,
      values: zip(columns, row).map { (name: $0, value: StoredValue($1)) }, store: store)
  }

  private func append(_ value: StoredValue, to output: inout OutputBuffer) {
    switch value {
    case .null: output.append("null")
    case .integer(let value): output.append(integer: value)
    case .real(let value): output.append(jsonReal: value)
    case .text(let text):
      let bytes = ContiguousArray(text.utf8)
      if !output.appendIfValid(jsonString: bytes.rawSpan) {
        output.append(jsonBlob: bytes.rawSpan)
      }
    case .blob(let blob): output.append(jsonBlob: ContiguousArray(blob).rawSpan)
    }
  }

  private func make() throws -> File {
    let folder = try OpenFolder(PathText.folder(of: path))
    let name = SQLiteWriter.privateName(for: path)
    let made = File(folder, name, try self.made.makeFile(name, in: folder))
    file = made
    return made
  }

  /// Completes the file, gives it its final name, and returns its path. Returns nil when no row was added.
  func publish() throws -> String? {
    guard let file else { return nil }
    try file.output.finish()
    if let code = SystemCalls.synchronize(file.descriptor) {
      throw failure("cannot be synced", code)
    }
    let name = PathText.lastComponent(of: path)
    if let code = SystemCalls.rename(
      file.name, in: file.folder.descriptor, to: name, in: file.folder.descriptor)
    {
      throw failure("cannot be given its name", code)
    }
    try file.folder.synchronize()
    return path
  }

  /// Removes the file after a failed migration, under its temporary or its final name.
  func discard() {
    guard let file, let made = FileStatus.found(file.descriptor) else {
      return
    }
    for name in [file.name, PathText.lastComponent(of: path)] {
      SafeRemoval.remove(name, in: file.folder.descriptor, of: made)
    }
  }

  private func failure(_ what: String, _ code: Int32) -> ExtractionError {
    ExtractionError(
      code == EEXIST ? .outputExists : .writeFailed,
      "the file of rejected rows \(what): \(SystemCallError.words(code))",
      path: path)
  }
}
