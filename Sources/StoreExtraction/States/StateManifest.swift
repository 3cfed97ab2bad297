import CLibrary
import CoreDataStore
package import Foundation
package import SQLiteFile
import SQLiteWriter
import SafeFiles
import SafeText
import StoreFiles

/// The manifest of an exported state. It says where the pages of the state come from, and what is doubtful about the
/// state.
package struct StateManifest: Sendable, Codable {
  package var schema = "lifeboat.state"
  /// The version of the JSON form's schema; it only increases.
  package var version = 1
  /// The name and version of the program that wrote the manifest.
  package var tool = "lifeboat " + Tool.version
  package var exported: Date
  /// The path or name of the store.
  package var source: String
  /// The SHA-256 of each file of the store set in lower-case hex, by file name.
  package var sourceSHA256: [String: String]
  /// The name of the state: the number of a commit, `before` or `interrupted`.
  package var state: String
  package var madeOf: StoreState.Source
  /// Whether the state has no finding of damage: all its pages exist, nothing in the files suggests that the database
  /// never was in this state, and SQLite's own check passes.
  package var isWhole: Bool
  package var output: String
  /// The size of the new file in bytes.
  package var sizeBytes: Int64
  /// The SHA-256 of the new file in lower-case hex.
  package var sha256: String
  package var pageSizeBytes: Int
  /// The number of pages in the new file.
  package var pageCount: UInt32
  package var pages: Pages
  /// The names of header fields (bytes 18 to 95 of the file) that the export changed. Because of these changes, SQLite
  /// reads the new file without a log.
  package var headerChanges: [String]
  /// The number of external files beside the store. The new file does not contain them.
  package var externalFileCount: Int
  package var findings: [Finding]
  /// The number of findings that are damage.
  package var damageCount: Int

  /// Counts of a state's pages by the file that they come from.
  package struct Pages: Sendable, Codable {
    package var main = 0
    package var wal = 0
    package var journal = 0
    /// The number of pages that no file contains. They become pages of zeros in the new file.
    package var missing = 0
  }

  package static func path(for output: String) -> String { output + ".json" }

  /// Writes the manifest to the path that ``path(for:)`` returns for ``output``.
  ///
  /// - Throws: ``ExtractionError`` when something already exists at that path, or when the file cannot be written.
  func publish(_ made: MadeFiles) throws {
    let path = Self.path(for: output)
    let name = PathText.lastComponent(of: path)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    let bytes = [UInt8](try encoder.encode(self)) + [UInt8(ascii: "\n")]
    do {
      let folder = try OpenFolder(PathText.folder(of: path))
      let first = SQLiteWriter.privateName(for: path)
      let descriptor = try made.makeFile(first, in: folder)
      var failure = SystemCalls.write(bytes[...], to: descriptor)
      if failure == nil { failure = SystemCalls.synchronize(descriptor) }
      if close(descriptor) != 0, failure == nil { failure = errno }
      if let failure { throw SystemCallError(call: "write", path: path, errno: failure) }
      made.making(path) {
        failure = SystemCalls.rename(
          first, in: folder.descriptor, to: name, in: folder.descriptor)
        return failure == nil
      }
      if let failure { throw SystemCallError(call: "rename", path: path, errno: failure) }
    } catch let error as SystemCallError {
      let isWrite = error.call == "write"
      throw ExtractionError(
        error.errno == EEXIST ? .outputExists : isWrite ? .writeFailed : .cannotCreate,
        "the manifest cannot be \(isWrite ? "written" : "made"): \(SystemCallError.words(error.errno))",
        path: path)
    }
  }
}
