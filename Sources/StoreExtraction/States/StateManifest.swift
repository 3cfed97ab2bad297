import CLibrary
import CoreDataStore
package import Foundation
package import SQLiteFile
import SafeFiles
import SafeText
import StoreFiles

/// What is written beside an exported state: where each of its bytes comes from, and what speaks against it.
package struct StateManifest: Sendable, Codable {
  /// The name of the schema of the JSON form.
  package var schema = "lifeboat.state"
  /// The version of that schema; it only increases.
  package var version = 1
  /// The program that wrote it.
  package var tool = "lifeboat " + Tool.version
  /// When the state was exported.
  package var exported: Date
  /// The store.
  package var source: String
  /// SHA-256 of each file of the store set, by name.
  package var sourceSHA256: [String: String]
  /// The state: the number of a commit, `before` or `interrupted`.
  package var state: String
  /// What the state is made of.
  package var madeOf: StoreState.Source
  /// Whether nothing speaks against its being a state that the database once had, and SQLite's own check passes.
  package var isWhole: Bool
  /// The new file.
  package var output: String
  /// Size of the new file in bytes.
  package var sizeBytes: Int64
  /// SHA-256 of the new file.
  package var sha256: String
  /// Bytes in a page.
  package var pageSizeBytes: Int
  /// Pages of the new file.
  package var pageCount: UInt32
  /// Where the pages come from.
  package var pages: Pages
  /// Fields of the header (bytes 18 to 95 of the file) that are not as the store has them, so that the file is read
  /// without a log.
  package var headerChanges: [String]
  /// Files of external binary data beside the store, which are not part of the new file.
  package var externalFileCount: Int
  /// What speaks against the state, and notes on it.
  package var findings: [Finding]
  /// How many of the findings are damage.
  package var damageCount: Int

  /// Where the pages of a state come from.
  package struct Pages: Sendable, Codable {
    /// Pages of the main file.
    package var main = 0
    /// Pages of the log.
    package var wal = 0
    /// Pages of the rollback journal.
    package var journal = 0
    /// Pages that no file holds; they are zeros.
    package var missing = 0
  }

  /// The path of the manifest of a file.
  package static func path(for output: String) -> String { output + ".json" }

  /// Writes the manifest under the name that belongs to the output.
  ///
  /// - Throws: ``ExtractionError`` when the name is taken, or when the file cannot be written.
  func publish(_ made: MadeFiles) throws {
    let path = Self.path(for: output)
    let name = PathText.lastComponent(of: path)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    let bytes = [UInt8](try encoder.encode(self)) + [UInt8(ascii: "\n")]
    do {
      let folder = try OpenFolder(PathText.folder(of: path))
      var random = SystemRandomNumberGenerator()
      let first =
        "." + name + "." + String(UInt32.random(in: .min ... .max, using: &random), radix: 36)
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
        "the manifest cannot be \(isWrite ? "written" : "made"): \(unsafe String(cString: strerror(error.errno)))",
        path: path)
    }
  }
}
