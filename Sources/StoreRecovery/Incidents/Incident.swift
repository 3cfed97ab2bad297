package import StoreFiles
public import Foundation
import ObjectModel

/// The record of a store set that was moved or copied into a quarantine, for the user and for support.
///
/// The record is `incident.json` in the quarantine's folder. Fields may be added, but no field changes its meaning.
public struct Incident: Sendable, Codable, Equatable, Identifiable {
  /// Why the store set is in the quarantine.
  public enum Kind: String, Sendable, Codable, CaseIterable {
    /// The store did not open.
    case setAside
    /// The store was moved away to make room for an earlier store that was restored.
    case replaced
    /// The set is a copy of a store that is in use, made because SQLite was about to drop a part of its log.
    case copied
    /// Support has repaired the store and sent it back, and this set is the repaired store.
    case returned
  }

  /// How the store's model and the app's model differ.
  public struct Model: Sendable, Codable, Equatable {
    /// The name of the model version that wrote the store; nil when unknown.
    public var writtenBy: String?
    /// The name of the model version that the app expects; nil when unknown.
    public var expected: String?
    /// The names of entities that only the store's model has.
    public var onlyInStore: [String]
    /// The names of entities that only the app's model has.
    public var onlyInModel: [String]
    /// The names of entities that both models have, with different hashes.
    public var differing: [String]
  }

  /// The parts of the text that tells the user what became of the data.
  public struct Notice: Sendable, Codable, Equatable {
    /// The headline, one line.
    public var title: String
    /// What happened to the data.
    public var whatHappened: String
    /// What was kept, and where. The text names a path only if the host has asked for one.
    public var whatWasKept: String
    /// What the user can do.
    public var whatToDo: String
    /// A sentence for the note `incident.txt` that says where the kept files are. The note is beside their folder. nil
    /// when the files are no longer in the quarantine, or when the host's own notice lacks the sentence.
    public var besideNote: String?
    /// The language of the words, a BCP 47 tag; nil when unknown.
    public var language: String?

    /// Creates a notice from its parts.
    public init(
      title: String, whatHappened: String, whatWasKept: String, whatToDo: String,
      besideNote: String? = nil, language: String? = nil
    ) {
      self.title = title
      self.whatHappened = whatHappened
      self.whatWasKept = whatWasKept
      self.whatToDo = whatToDo
      self.besideNote = besideNote
      self.language = language
    }
  }

  package static let schemaName = "lifeboat.incident"
  /// The newest ``version`` that this build reads and writes.
  package static let currentVersion = 1

  /// The name of the JSON format of this record, always ``schemaName``.
  package let schema: String
  /// The version of the record's format.
  package let version: Int
  /// The name of the quarantine's folder, unique within `Incompatible`.
  public let id: String
  /// When the set was put into the quarantine, in whole seconds.
  public let created: Date
  /// Why the store set is in the quarantine.
  public let kind: Kind
  /// The app that moved or copied the set.
  public let app: Recovery.App
  /// The main file's name.
  public let storeName: String
  /// The path of the quarantine's folder at the time when it was made. This path is wrong after the folder was moved,
  /// for example with the app's container, and on another machine. The present path is ``Incidents/Entry/folder``.
  public let folder: String
  /// The store's UUID; nil when it could not be read.
  public let storeUUID: String?
  /// What the evidence showed, what was done, and why.
  public let verdict: Verdict
  /// The facts about the store on which the verdict rests.
  public let evidence: StoreEvidence
  /// How the store's model and the app's differ; nil when neither model is known.
  public let model: Model?
  /// The seal of the kept files; nil while the seal is not complete.
  package internal(set) var seal: StoreSeal?
  /// The notice for the user, as stored in the record.
  public internal(set) var notice: Notice
  /// The version of Lifeboat that wrote the record.
  public let toolVersion: String
}

/// What became of an incident's store set after the record was written.
public struct IncidentOutcome: Sendable, Codable, Equatable {
  /// What happened to the kept store set.
  public enum Kind: String, Sendable, Codable, CaseIterable {
    /// The store was moved back at once, because no fresh store could be opened.
    case putBack
    /// The store was restored on request.
    case restored
  }
  /// What became of the store set that the incident kept.
  public let kind: Kind
  /// When the store was moved back, in whole seconds.
  public let date: Date
}

extension Incident {
  /// The text of the file `incident.txt`, which is written beside the folder of the kept files. The text contains no
  /// path.
  public var plainText: String { Self.plainText(of: notice) }

  static func plainText(of notice: Notice) -> String {
    let kept = [notice.whatWasKept, notice.besideNote].compactMap(\.self).joined(separator: "\n")
    return """
      \(notice.title)

      \(notice.whatHappened)

      \(kept)

      \(notice.whatToDo)

      """
  }
}

extension Incidents {
  /// Returns the path of the folder with the kept files, in the incident's folder at the path `folder`.
  package static func keptFolder(in folder: String) -> String {
    folder + "/" + QuarantineFolder.storeFolderName
  }
}

extension Incident {
  /// The names of the files in an incident's folder that are the incident's record.
  package static var recordNames: [String] {
    [QuarantineFolder.incidentName, QuarantineFolder.textName]
  }

  /// Returns the path of the kept main file. `folder` is the present path of the incident's folder.
  package func keptMainPath(in folder: String) -> String {
    Incidents.keptFolder(in: folder) + "/" + storeName
  }

  init(
    _ judgement: Judgement, app: Recovery.App, storeName: String, id: String, folder: String,
    created: Date, kind: Kind, texts: IncidentTexts
  ) {
    schema = Self.schemaName
    version = Self.currentVersion
    self.id = id
    self.created = created
    self.kind = kind
    self.app = app
    self.storeName = storeName
    self.folder = folder
    let evidence = judgement.evidence
    storeUUID = evidence.storeUUID
    verdict = judgement.verdict
    self.evidence = evidence
    if evidence.expectsModel || evidence.writtenBy != nil {
      model = Model(
        writtenBy: evidence.writtenBy, expected: evidence.expectedVersion,
        onlyInStore: evidence.comparison?.onlyInStore ?? [],
        onlyInModel: evidence.comparison?.onlyInModel ?? [],
        differing: evidence.comparison?.differing ?? [])
    } else {
      model = nil
    }
    seal = nil
    toolVersion = Tool.version
    notice = Notice(title: "", whatHappened: "", whatWasKept: "", whatToDo: "")
    notice = texts.notice(of: self)
  }
}
