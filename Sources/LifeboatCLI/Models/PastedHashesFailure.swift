import ModelTools
import ObjectModel
import Quoting
import SQLiteFile

extension Failure {
  /// Returns the failure for a file that contains only version hashes, where a store or a model is expected. Returns
  /// nil for a file without version hashes.
  static func pastedHashes(at path: String?) -> Failure? {
    guard let path, let file = try? ByteFile(path), file.size <= PastedHashes.maximumByteCount,
      let bytes = try? file.bytes(at: 0, count: Int(file.size)),
      let names = PastedHashes.entityNames(in: bytes)
    else { return nil }
    let more = names.count > 3 ? " and others" : ""
    return Failure(
      65, "file.versionHashes",
      "\(path) holds version hashes (\(names.prefix(3).joined(separator: ", "))\(more)) and is neither a store nor a model",
      hint:
        "to find the version with these hashes, run: lifeboat model identify --hashes \(ShellText.path(path)) MODELS"
    )
  }
}
