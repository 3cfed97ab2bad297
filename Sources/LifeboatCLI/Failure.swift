import CoreDataForensics
import StoreFiles
import SafeFiles
import Foundation
import SQLCipherFiles
import ModelTools
import ObjectModel
import SQLiteFile
import SQLiteForensics
import SQLiteWriter
import Quoting
import SafeText
import StoreExtraction
import StoreMigration
import StoreRecovery
import StoreReturns
import StoreTriage
import SupportBundle
import Terminal

/// An error as the command line reports it: a message, a code, a hint on what the user can do next, and the exit
/// status.
struct Failure: Error {
  var exitCode: Int32
  var code: String
  var message: String
  var hint: String?

  init(_ exitCode: Int32, _ code: String, _ message: String, hint: String? = nil) {
    self.exitCode = exitCode
    self.code = code
    self.message = message
    self.hint = hint
  }

  /// Returns the failure that the user sees for an error. The message and hint of the error may name the private copy
  /// at `place` or the private folder `folder`. These paths are replaced by `given`, the path that the user gave. An
  /// error that cannot be shown as a failure is thrown again.
  static func told(
    _ error: any Error, of place: String, in folder: String, as given: String
  ) throws -> Failure {
    guard var failure = Failure(error) else { throw error }
    let named = StoreInput.replacing(place, with: given, in: failure.message)
    failure.message = StoreInput.replacing(folder, with: given, in: named)
    failure.hint = failure.hint.flatMap { hint in
      let shown = StoreInput.replacing(
        ShellText.path(place), with: ShellText.path(given), in: hint)
      // A hint that names another file of the private folder does not help the user.
      return shown.utf8.firstRange(of: folder.utf8) == nil ? shown : nil
    }
    return failure
  }

  /// The failure for a store that changed while it was read. `members` are the names of the files that changed.
  static func changedDuringRead(_ members: [String]) -> Failure {
    Failure(
      75, "evidence.changedDuringRead",
      "the store changed while it was read: \(members.joined(separator: ", "))",
      hint: "close every program that writes to the store and try again")
  }

  /// The failure for an error that a target of this package has thrown, for an error of a system call, or for a
  /// `CocoaError` of Foundation; nil for any other error.
  init?(_ error: any Error) {
    switch error {
    case let error as Failure: self = error
    case let error as SQLiteFileError: self.init(error)
    case let error as ExtractionError: self.init(error)
    case let error as ModelError: self.init(error)
    case let error as StoreSealError:
      let isRefused = Self.isRefusal(error.errno)
      let isChanged = error.code == .changing || error.code == .changed
      self.init(
        isRefused ? 77 : isChanged ? 75 : 74, error.code.rawValue,
        Self.sentence(error.message, error.path),
        hint: isRefused
          ? "run lifeboat as the user who owns the folder"
          : isChanged
            ? "close every program that writes to the store and try again"
            : error.code == .unreadable ? "copy the files to a healthy disk and try again" : nil)
    case let error as SQLiteWriterError: self.init(error)
    case let error as BundleError: self.init(error)
    case let error as CipherError: self.init(65, error.code.rawValue, error.message)
    case let error as StoreRecoveryError: self.init(error)
    case let error as MigrationError: self.init(error)
    case let error as StoreReturnError: self.init(error)
    case let error as InferredMappingError:
      self.init(
        65, InferredMappingError.code, error.message,
        hint: "give the app's mapping model with --mapping")
    case let error as FreshStoreSchema.Failure:
      self.init(65, "model.hashUnknown", "no store can be made: \(error.message)")
    case let error as CatalogError:
      let other = "name a catalogue that lifeboat triage --catalog has made, or a new file for one"
      let (exitCode, hint): (Int32, String?) =
        switch error.code {
        case .missing: (66, other)
        case .notACatalog, .otherVersion: (65, other)
        case .unreadable: (77, nil)
        case .unwritable:
          (
            77,
            "check the permissions of the catalogue and of its folder, and whether the volume is read-only"
          )
        case .locked: (75, "try again when the program that writes to the catalogue has ended")
        case .damaged:
          (
            65,
            "make a new catalogue of the same inputs: lifeboat triage INPUTS --catalog NEW.sqlite"
          )
        }
      self.init(exitCode, error.code.rawValue, "\(error.path): \(error.message)", hint: hint)
    case let error as StreamError:
      self.init(74, error.code.rawValue, error.message)
    case let error as SystemCallError: self.init(error)
    case let error as CocoaError: self.init(error)
    default: return nil
    }
  }

  private init(_ error: SystemCallError) {
    let isRefused = Self.isRefusal(error.errno)
    // A call such as `pipe` has no path.
    let place = error.path.isEmpty ? "" : ", \(error.path)"
    let hint =
      switch error.errno {
      case EACCES, EPERM: "run lifeboat as the user who owns the folder"
      case ENOSPC, EDQUOT: "free some space on the volume and try again"
      case EMFILE, ENFILE, ENOMEM, EAGAIN:
        "the system has too few resources at the moment: close other programs and try again"
      default: "check the path, its permissions and the free space"
      }
    self.init(
      isRefused ? 77 : 74, isRefused ? "file.permission" : "file.io",
      (isRefused ? "permission denied" : error.reason) + place, hint: hint)
  }

  private init(_ error: CocoaError) {
    let input: (exit: Int32, code: SQLiteFileError.Code, message: String, hint: String)? =
      switch error.code {
      case .fileReadNoSuchFile: (66, .missing, "no such file", "check the path")
      case .fileReadNoPermission:
        (77, .permission, "permission denied", "ask for read permission")
      case .fileReadUnknown: (74, .io, "the file cannot be read", "name an ordinary file")
      default: nil
      }
    if let input {
      self.init(
        input.exit, input.code.rawValue,
        Self.sentence(input.message, error.filePath ?? error.url?.path), hint: input.hint)
      return
    }
    let isOutput =
      error.code == .fileNoSuchFile || error.code == .fileWriteNoPermission
      || error.code == .fileWriteFileExists || error.code == .fileWriteInvalidFileName
      || error.code == .fileWriteVolumeReadOnly
    self.init(
      isOutput ? 73 : 74, isOutput ? "output.cannotCreate" : "output.io",
      Self.sentence(error.localizedDescription, error.filePath ?? error.url?.path),
      hint: isOutput
        ? "check the folder that the output goes into"
        : "check the free space where the output goes")
  }

  private static func sentence(_ text: String, _ path: String?) -> String {
    guard let path else { return text }
    // The path is shown after the message, so a full stop at the end of the message is dropped.
    let message =
      PathText.ends(text, with: "..") ? text : PathText.dropping(suffix: ".", from: text) ?? text
    guard !path.isEmpty else { return "\(message): the path is empty" }
    // The message names the path only if it contains the path as a whole word: "permission denied" does not name the
    // file "perm".
    let isNamed =
      PathText.starts(message, with: path + ":") || PathText.starts(message, with: path + " ")
      || PathText.ends(message, with: ": " + path)
      || (path.utf8.contains(UInt8(ascii: "/")) && message.utf8.firstRange(of: path.utf8) != nil)
    guard !isNamed else { return message }
    return "\(message), \(path)"
  }

  private init(_ error: SQLiteFileError) {
    if error.code == .notADatabase, let pasted = Self.pastedHashes(at: error.path) {
      self = pasted
      return
    }
    var message = Self.sentence(error.message, error.path)
    if let offset = error.offset, offset > 0 { message += ", offset \(Quantity.count(offset))" }
    let (exit, hint): (Int32, String?) =
      switch error.code {
      case .missing: (66, "check the path; a store is named by its main file")
      case .notRegular: (66, Self.noFileHint(error.path))
      case .permission: (77, "ask for read permission, or work on a copy that you may read")
      case .io: (74, "copy the file to a healthy disk and try again")
      case .empty:
        (65, "this file holds no rows: look for a -wal or a backup beside the file")
      case .looksEncrypted:
        (
          65,
          "if SQLCipher encrypts the store, and you have its key, add: --key-file FILE; otherwise ask the owner of the key for an unencrypted export"
        )
      case .notADatabase, .badHeader:
        (65, Self.headerHint(error.path) ?? "check that this is the main file of the store")
      case .isLog, .isJournal: (65, Self.sideFileHint(error.path ?? ""))
      case .changedDuringRead:
        (75, "close every program that writes to the store and try again, or read a copy of it")
      case .output, .outputClosed: (74, "check the free space where the output goes")
      default: (70, nil)
      }
    self.init(exit, error.code.rawValue, message, hint: hint)
  }

  /// Returns a hint for a user who gave a path that is not an ordinary file: which path to give instead.
  private static func noFileHint(_ path: String?) -> String {
    guard let path else { return "name the file itself" }
    var isFolder: ObjCBool = false
    let exists = unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
    if exists, isFolder.boolValue {
      return "to see the stores in the folder, run: lifeboat inspect \(ShellText.path(path))"
    }
    if FileStatus.found(path)?.kind == .symbolicLink, exists {
      return "name the file that this link leads to: \(ShellText.path(ModelFile.resolved(path)))"
    }
    return "name the store's main file, which is an ordinary file"
  }

  /// The command that makes a sound file of the store at `path`.
  private static func repair(_ path: String?) -> String {
    guard let path else { return RepairCommand.recover.text("STORE") }
    return RepairCommand(forFileAt: path).text(ShellText.path(path))
  }

  /// A hint for a file that holds database pages but has a damaged header; nil for any other file.
  private static func headerHint(_ path: String?) -> String? {
    guard let path, SQLiteDatabase.isRuinedDatabase(path: path) else { return nil }
    let name = ShellText.path(path)
    return
      "the header of the file is damaged, but the file holds database pages; read them with: "
      + "\(repair(path)), or: lifeboat rows --all \(name)"
  }

  /// A hint for a user who has named a write-ahead log or rollback journal instead of the main file.
  private static func sideFileHint(_ path: String) -> String {
    guard let suffix = ["-wal", "-journal"].first(where: { PathText.ends(path, with: $0) }),
      let main = PathText.dropping(suffix: suffix, from: path), !main.utf8.isEmpty
    else {
      return
        "name the main file; if the main file is lost, make an empty file X, copy this file beside it as X-wal or X-journal, and run: lifeboat recover X -o NEW.sqlite"
    }
    guard !FileManager.default.fileExists(atPath: main) else {
      return "name the main file: \(ShellText.path(main))"
    }
    let name = ShellText.path(main)
    return
      "the main file is missing; make an empty one in its place, then read what the \(suffix) holds: touch \(name) && lifeboat recover \(name) -o NEW.sqlite"
  }

  private init(_ error: MigrationError) {
    let hint: String? =
      switch error.code {
      case .missingPolicy: "to copy properties of the same name instead, add: --missing-policy copy"
      case .noSourceModel: "give the model that wrote the store: --from-model MODEL"
      case .noWay: "to see what is missing, run: lifeboat model plan STORE MODELS"
      case .mappingMismatch: "give the mapping model that was made for these versions"
      case .unsupportedExpression: nil
      case .tooComplex:
        "write simpler expressions in the mapping model, or migrate in two steps, with a model version in between"
      case .checkFailed: "nothing was written; report this with the store's models"
      default: nil
      }
    self.init(
      error.code == .checkFailed ? 70 : 65, error.code.rawValue,
      "the store is not migrated: \(error.reasons.joined(separator: "; "))", hint: hint)
  }

  private init(_ error: ExtractionError) {
    let (exit, hint): (Int32, String?) =
      switch error.code {
      case .outputExists: (73, "name an output that does not exist yet")
      case .cannotCreate: (73, "check the folder that the output goes into")
      case .writeFailed: (74, "check the free space where the output goes")
      case .noStores: (66, "name the store itself, or a folder with stores in it")
      case .noExample:
        (65, "name a healthy store, or an .xcdatamodeld, .xcdatamodel, .momd or .mom")
      case .unknownName: (64, Self.nameHint(error))
      case .badCondition where error.listing != nil: (64, Self.nameHint(error))
      case .badCondition:
        (
          64,
          "write the condition as an NSPredicate, such as: title CONTAINS[c] \"milk\" AND rating > 3"
        )
      case .badAnalyser: (65, "to see the form of analysers, run: man lifeboat-check")
      case .badPattern: (64, "put the regular expression between slashes, such as '/[0-9]{4}/'")
      case .unknownState:
        (64, "to see all states, run: lifeboat states \(error.path.map(ShellText.path) ?? "STORE")")
      case .stateNotHeld:
        (
          65,
          "to save what can be read of the store, run: " + Self.repair(error.path)
        )
      case .whichVersion: (64, "name the version's own .mom or .xcdatamodel")
      case .changedDuringRead: (75, "close every program that writes to the store and try again")
      default: (70, nil)
      }
    self.init(exit, error.code.rawValue, Self.sentence(error.message, error.path), hint: hint)
  }

  /// A hint with the name that the user may have meant, and with the command that shows all names.
  private static func nameHint(_ error: ExtractionError) -> String {
    let store = error.path.map(ShellText.path) ?? "STORE"
    func only(_ name: String?) -> String { name.map { " --entity " + ShellText.quoted($0) } ?? "" }
    let all =
      switch error.listing {
      case .attributes(let name)?:
        "to see all attributes, run: lifeboat model show \(store)\(only(name))"
      case .columns(let name)?:
        "to see all columns, run: lifeboat rows --limit 1 \(store)\(only(name))"
      case nil: "to see all names, run: lifeboat inspect -v \(store)"
      }
    return error.nearest.map { "did you mean \(ShellText.quoted($0))? " + all } ?? all
  }

  private init(_ error: ModelError) {
    if error.code == .notAModel, let pasted = Self.pastedHashes(at: error.path) {
      self = pasted
      return
    }
    let (exit, hint): (Int32, String?) =
      switch error.code {
      case .unreadable: (66, "check the path")
      case .unfitName:
        (73, "write one version alone, as a single file: --model-version NAME --to mom")
      case .tooLarge: (65, nil)
      default: (65, "name an .xcdatamodeld, .xcdatamodel, .momd, .mom or VersionInfo.plist")
      }
    self.init(exit, error.code.rawValue, Self.sentence(error.message, error.path), hint: hint)
  }

  private init(_ error: SQLiteWriterError) {
    let (exit, hint): (Int32, String?) =
      switch error.code.rawValue {
      case "writer.exists": (73, "name an output that does not exist yet")
      case "writer.cannotCreate", "writer.cannotOpen":
        (
          Self.isRefusal(error.systemError) ? 77 : 73, "check the folder that the output goes into"
        )
      case "writer.full", "writer.io": (74, "check the free space where the output goes")
      default: (70, nil)
      }
    // The file that cannot be created has a name that means nothing to the user.
    let path = error.code == .cannotCreate ? PathText.folder(of: error.path) : error.path
    self.init(exit, error.code.rawValue, Self.sentence(error.message, path), hint: hint)
  }

  private init(_ error: BundleError) {
    let exit: Int32 =
      switch error.code {
      case .outputExists, .cannotCreate, .overLimit: 73
      case .writeFailed, .readFailed: 74
      case .inputMissing, .notAFile: 66
      case .permissionDenied: 77
      case .changedWhileReading: 75
      case .cancelled: 130
      case .unknownName: 64
      case .misuse, .compressionFailed, .badDate, .failed: 70
      default: 65
      }
    var message = Self.sentence(error.message, error.path)
    if let entry = error.entry { message += ", entry \(entry)" }
    if let offset = error.offset { message += ", offset \(Quantity.count(offset))" }
    self.init(
      exit, error.code.rawValue, message,
      hint: error.code == .isReturn
        ? Self.returnHint(error.path)
        : error.hint ?? (exit == 66 ? "check the path, and name the file itself" : nil))
  }

  /// A hint on the commands that read the returned store at `path`.
  static func returnHint(_ path: String?) -> String {
    "to check it, run: lifeboat return verify \(path.map(ShellText.path) ?? "FILE"); "
      + "lifeboat return accept takes it in"
  }

  /// The failure for an incident whose folder or record could not be read because of a system error; nil for any other
  /// incident.
  init?(unreadable entry: Incidents.Entry) {
    guard let code = entry.problemErrno else { return nil }
    let isRefused = Self.isRefusal(code)
    let problem = entry.problem ?? "the record of the incident cannot be read"
    self.init(
      isRefused ? 77 : 74, StoreRecoveryError.Code.unreadableIncident.rawValue,
      (isRefused ? "permission denied: " : "") + Self.sentence(problem, entry.folder),
      hint: isRefused
        ? "run lifeboat as the user who owns the folder" : Self.keptHint(entry.folder))
  }

  /// A hint for an incident whose record cannot be read. The hint says in which folder the set-aside files are.
  static func keptHint(_ folder: String) -> String {
    "the files that were set aside are in \(ShellText.path(Incidents.keptFolder(in: folder))); this command did not read them"
  }

  private static func isRefusal(_ code: Int32?) -> Bool { code == EACCES || code == EPERM }

  /// Whether a file cannot be written because its volume is full, a limit of its size is reached, or the device fails.
  private static func isOfDevice(_ code: Int32?) -> Bool {
    code.map { [ENOSPC, EFBIG, EDQUOT, EIO].contains($0) } ?? false
  }

  private init(_ error: StoreReturnError) {
    let reason = error.errno.map { ": " + SystemCallError.words($0) } ?? ""
    let hint: String? =
      switch error.code {
      case .damaged: "ask support to send the file once more"
      case .cannotCreate:
        error.errno == EEXIST
          ? "name an output that does not exist yet"
          : "check the permissions of the folder, and the free space"
      case .otherIncident: "name the folder of the incident that the store was repaired for"
      case .unreadable: "name the main file of the repaired store"
      case .unfit: "the store must be sound, be one of this app, and fit the app's model"
      case .alreadyAccepted: "open the app"
      default: nil
      }
    let exit: Int32 =
      switch error.code {
      case .cannotCreate: Self.isOfDevice(error.errno) ? 74 : 73
      case .alreadyAccepted: 73
      default: 65
      }
    self.init(
      exit, error.code.rawValue, Self.sentence(error.message + reason, error.path), hint: hint)
  }

  private init(_ error: StoreRecoveryError) {
    let cause = error.underlying as? SystemCallError
    var message = Self.sentence(error.message, error.path)
    if let cause {
      message += ": \(cause.reason)"
      if !PathText.isSame(cause.path, error.path ?? "") { message += ", \(cause.path)" }
    } else if let code = error.errno, !Self.isRefusal(code), !(error.underlying is StoreSealError) {
      message += ": " + SystemCallError.words(code)
    }
    if Self.isRefusal(error.errno ?? cause?.errno) {
      self.init(
        77, error.code.rawValue, "permission denied: \(message)",
        hint: "run lifeboat as the user who owns the folder"
          + (error.forceHelps ? ", or add --force to restore it as it is" : ""))
      return
    }
    let incident = error.path.flatMap(IncidentFolder.enclosing).map {
      ShellText.path(PathText.joined($0.folder, $0.id))
    }
    let (exit, hint): (Int32, String?) =
      switch error.code {
      case .inUse: (75, "close the app that uses the store and try again")
      case .noSpace: (74, "free some space on the volume and try again")
      case .moveFailed, .unfinished:
        (74, "nothing was lost; the next run finishes or undoes the move")
      case .noSuchIncident: (66, Self.listHint(error.path))
      case .unreadableIncident:
        (error.errno == nil ? 65 : 74, Self.keptHint(error.path ?? "."))
      case .sealBroken:
        (1, "to restore the kept files as they are now, add --force")
      case .blocked: (66, "move that file away and try again; nothing is overwritten")
      case .notAStore:
        (
          65,
          incident.map {
            "to see what is kept, run: lifeboat incidents show \($0)"
              + (error.forceHelps ? "; to restore it as it is, add --force" : "")
          }
        )
      case .cancelled: (75, "nothing was moved; run the command again and let it finish")
      case .nothingKept:
        (66, incident.map { "to see what became of the store, run: lifeboat incidents show \($0)" })
      case .notAFile: (66, nil)
      default: (75, nil)
      }
    self.init(exit, error.code.rawValue, message, hint: hint)
  }

  /// Returns the hint for a `path` that names an incident that does not exist. The hint says how to list the existing
  /// incidents, that nothing was set aside, or which folder to name instead.
  private static func listHint(_ path: String?) -> String {
    guard let all = path.flatMap(IncidentFolder.ofAll) else {
      return "name the folder of the store, or its Incompatible folder"
    }
    guard FileStatus.found(all) != nil else {
      return "nothing was set aside in this folder: \(ShellText.path(PathText.folder(of: all)))"
    }
    return "to list the incidents, run: lifeboat incidents list \(ShellText.path(all))"
  }

  /// Writes the failure to standard error, as text or as a JSON object.
  func report(asJSON: Bool) {
    let errors = StandardStream(descriptor: 2)
    if asJSON {
      let object: [String: String?] = [
        "message_type": "exit_error", "code": code, "message": message, "hint": hint,
      ]
      try? errors.write(json: JSONText.line(object.compactMapValues { $0 }))
    } else {
      try? errors.writeLine("error: \(VisibleText.visible(message)) (\(code))")
      if let hint { try? errors.writeLine("hint: \(VisibleText.visible(hint))") }
      if exitCode == 70 {
        try? errors.writeLine(
          "This is a bug in lifeboat: please report it with the line above and version \(Tool.version)."
        )
      }
    }
    try? errors.flush()
  }
}
