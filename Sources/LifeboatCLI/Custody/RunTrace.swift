import Foundation
import SafeText
import StoreFiles

/// What the run of this process tells the custody log, because its arguments do not say it: where evidence is that was
/// moved, and which other files were made.
final class RunTrace: @unchecked Sendable {
  /// The trace of this process, which runs one command.
  static let shared = RunTrace()

  // Unchecked Sendable because the lock protects the properties.
  private let lock = NSLock()
  private var places: [String: String] = [:]
  private var made: [String] = []

  /// Notes that the store at the path `evidence` was moved, and that its main file is at `place` now.
  func note(moved evidence: String, to place: String) {
    lock.withLock { places[evidence] = place }
  }

  /// Notes a file that the run has made.
  func note(made path: String) { lock.withLock { made.append(path) } }

  /// Returns the present path of the store that was at the path `evidence` when the run began.
  func place(of evidence: String) -> String {
    lock.withLock { places[evidence] ?? evidence }
  }

  /// The paths of the files that were noted as made.
  var madePaths: [String] { lock.withLock { made } }
}

extension RecordedCommand {
  /// Returns the path of a new database, and that of the folder beside it which gets the external files. Empty if no
  /// database is made.
  static func paths(ofDatabaseAt output: String?) -> [String] {
    guard let output else { return [] }
    let name = PathText.lastComponent(of: output)
    let folder = StoreSet.supportName(for: name)
    let isBare = name.utf8.count == output.utf8.count
    return [output, isBare ? folder : PathText.joined(PathText.folder(of: output), folder)]
  }
}
