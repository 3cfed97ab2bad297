import StoreFiles
import SafeFiles
import SafeText
public import Foundation

/// The incidents in one folder, that is, the stores that were set aside there. Lists, checks, restores and prunes them.
public struct Incidents: Sendable {
  /// An incident as it is on disk: its folder, its record and its state.
  public struct Entry: Sendable, Identifiable, Encodable {
    /// The name of the quarantine's folder.
    public let id: String
    /// The folder's current path.
    public let folder: String
    /// The record; nil when it cannot be read.
    public let incident: Incident?
    /// Why the record cannot be read; nil when it can.
    public let problem: String?
    /// The system's error number if the incident's folder or record could not be read at all; nil if the record was
    /// read, is missing or is damaged.
    package let problemErrno: Int32?
    /// What happened to the store after it was set aside; nil while it is still in the quarantine.
    public let outcome: IncidentOutcome?
    /// Whether a move into or out of the folder is not finished.
    public let isUnfinished: Bool
    /// Whether the seal of the kept files is still incomplete, because one launch could not read all files. The next
    /// opens of the store continue the seal.
    public let isSealPending: Bool

    private enum CodingKeys: String, CodingKey {
      case id, folder, incident, problem, outcome, isUnfinished, isSealPending
    }
  }

  let home: String
  let fileSystem: FileSystem
  let clock: @Sendable () -> Date

  /// The incidents in `folder`, which is a store's folder or the `Incompatible` folder in it.
  public init(in folder: URL) {
    self.init(in: folder.path, fileSystem: .real)
  }

  package static let folderName = QuarantineFolder.parentName

  /// Whether `name` has the form of an incident's id.
  package static func isID(_ name: String) -> Bool {
    PathText.isPlainName(name) && Timestamp.isFolderName(name)
  }

  package init(
    in folder: String, fileSystem: FileSystem, clock: @escaping @Sendable () -> Date = { Date() }
  ) {
    let path = PathText.withoutTrailingSlashes(folder)
    let isIncompatible = PathText.isSame(
      PathText.lastComponent(of: path), QuarantineFolder.parentName)
    self.init(
      home: isIncompatible ? PathText.folder(of: path) : path, fileSystem: fileSystem, clock: clock)
  }

  /// Creates the list of incidents of the stores in the folder `home`. Unlike the public initializer, it does not take
  /// a folder named `Incompatible` for the folder of the incidents themselves.
  init(
    home: String, fileSystem: FileSystem, clock: @escaping @Sendable () -> Date = { Date() }
  ) {
    self.home = StoreSet.realFolder(home)
    self.fileSystem = fileSystem
    self.clock = clock
  }

  /// Called while files are read; returns whether to cancel. A cancellation before the first move changes nothing.
  package var isCancelled: @Sendable () -> Bool = { false }

  var mover: SetMover { SetMover(fileSystem: fileSystem, isCancelled: isCancelled) }
  var incompatible: String { QuarantineFolder.parent(in: home) }

  /// All incidents, oldest first. An incident with a damaged record is listed with its problem. An incident that is
  /// being removed is left out.
  ///
  /// - Throws: ``StoreRecoveryError`` when the folder exists but cannot be read, or is a link or a file.
  public func list() throws -> [Entry] {
    try ids().map { entry($0) }
  }

  /// The ids of all incidents, oldest first. Costs one `lstat` when there is no incidents' folder.
  func ids() throws -> [String] {
    try readingFolder {
      try names().filter { Timestamp.isFolderName($0) }
        .filter { try fileSystem.status(incompatible + "/" + $0)?.kind == .folder }
        .sorted { Self.order($0) < Self.order($1) }
    }
  }

  /// All names in the folder of the incidents; empty when there is no such folder.
  func names() throws -> [String] {
    try readingFolder { try hasFolder() ? fileSystem.entries(incompatible).names : [] }
  }

  /// Whether there is a folder of incidents. Throws when something else has its name: nothing is moved through a link.
  private func hasFolder() throws -> Bool {
    guard let status = try fileSystem.status(incompatible) else { return false }
    guard status.kind == .folder else {
      throw StoreRecoveryError(
        .noSuchIncident, "the folder of the incidents is \(status.kind.words)", path: incompatible)
    }
    return true
  }

  private func readingFolder<Result>(_ read: () throws -> Result) throws -> Result {
    do { return try read() } catch let error as SystemCallError {
      throw StoreRecoveryError(
        .noSuchIncident, "the folder of the incidents cannot be read", path: incompatible,
        errno: error.errno)
    }
  }

  /// The incident with this id. Its record may be unreadable.
  ///
  /// - Throws: ``StoreRecoveryError`` when no incident has that id, or its folder cannot be examined.
  public func show(_ id: String) throws -> Entry {
    let path = incompatible + "/" + id
    guard Self.isID(id),
      try readingFolder({ try hasFolder() ? fileSystem.status(path) : nil })?.kind == .folder
    else {
      throw StoreRecoveryError(.noSuchIncident, "there is no incident named \(id)", path: path)
    }
    return entry(id)
  }

  func entry(_ id: String) -> Entry {
    let folder = incompatible + "/" + id
    var incident: Incident?
    var problem: String?
    var problemErrno: Int32?
    do {
      incident = try mover.records.incident(in: folder)
      if incident == nil { problem = "the folder holds no record of an incident" }
    } catch let error as StoreRecoveryError {
      problem = error.message
      problemErrno = error.errno
    } catch let error as SystemCallError {
      problem = "the record cannot be examined"
      problemErrno = error.errno
    } catch {
      problem = "the record cannot be read"
    }
    let outcome = try? mover.records.read(
      IncidentOutcome.self, from: folder + "/" + QuarantineFolder.outcomeName)
    return Entry(
      id: id, folder: folder, incident: incident, problem: problem,
      problemErrno: problemErrno, outcome: outcome,
      isUnfinished: isUnfinished(folder, isCommitted: incident != nil),
      isSealPending: incident.map { $0.seal == nil } == true && outcome == nil
        && isThere(folder + "/" + QuarantineFolder.sealingName))
  }

  private func isThere(_ path: String) -> Bool { (try? fileSystem.status(path)) != nil }

  private func isUnfinished(_ folder: String, isCommitted: Bool) -> Bool {
    if isThere(folder + "/" + QuarantineFolder.backName) { return true }
    do {
      let path = folder + "/" + QuarantineFolder.intentName
      // A record that is too large to read here may list many files.
      if let status = try fileSystem.status(path), status.sizeBytes > RecordFile.lookLimit {
        return true
      }
      return try mover.records.move(at: path) != nil
    } catch {
      // When the incident has its record, a damaged intent no longer matters.
      return !(isCommitted && RecordFile.isDamage(error))
    }
  }

  /// The sort key of an incident's id: the time in the id, then the number after that time, so that -10 follows -9.
  static func order(_ id: String) -> (String, Int, String) {
    let dash = UInt8(ascii: "-")
    let number = id.utf8.split(separator: dash).last.flatMap { Int(Substring($0)) } ?? 1
    return (String(Substring(id.utf8.prefix(20))), number, id)
  }
}
