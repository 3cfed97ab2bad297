import CoreDataStore
import SafeText
import StoreExtraction
import StoreFiles

/// A description of what happened to an input, by which equal cases are recognized: the verdict, the error codes, the
/// kinds of damage and further strings. The hashes ``id`` and ``family`` are computed from these strings.
///
/// The hash ``id`` is the first 16 hexadecimal digits of a SHA-256. The hashed texts are, in this order:
/// `lifeboat.triage.1`, verdict, problem, codes, model that wrote the store, model that the app expects, number of
/// places of damage, each place, number of analysers, each analyser, build, SQLite version. Each text is followed by a
/// zero byte. An unknown string counts as empty. The hash ``family`` is computed in the same way, but without the
/// models, the build and the SQLite version, so that it does not depend on the app's version or the system.
package struct TriageSignature: Sendable, Codable, Equatable {
  /// The verdict on an input in which no fault was found.
  package static let healthy = "healthy"
  /// The verdict on an input that could not be read.
  package static let unread = "unread"
  /// The verdict on a damaged store for which no incident records a verdict.
  package static let corrupt = "corrupt"
  /// The problem of an incident that has its record, but not its store.
  static let noStore = "incident.noStore"
  /// The problem of an incident whose store the user has restored, so that only the record is left.
  static let restored = "incident.restored"
  /// The problem of an incident whose store was put back at once, because no fresh store could be opened.
  static let putBack = "incident.putBack"
  /// The problem of a bundle that has neither the files of its store nor records about them.
  static let noStoreInBundle = "bundle.noStore"
  static let mostPlaces = 64

  /// The model that wrote the store, and the model that the app expects. Each model is given by its name or version
  /// identifiers, or by the beginning of the checksum of its version hashes.
  package struct Model: Sendable, Codable, Equatable {
    /// The model that wrote the store; nil when it is not known.
    package var writtenBy: String?
    /// The model that the app expects; nil when no incident records this model.
    package var expected: String?
  }

  /// The hash of the whole signature. It is empty until ``hashed()`` computes it.
  package var id = ""
  /// A hash of the signature's fields except the models, the build and the SQLite version. It is empty until
  /// ``hashed()`` computes it.
  package var family = ""
  /// The verdict that the incident records. For an input without an incident: `healthy`, `corrupt` or `unread`.
  package var verdict = Self.unread
  /// The code that says why the store, or a part of it, could not be read; nil when everything was read.
  package var problem: String?
  /// The error codes with which the store failed to open, for example `sqlite.779 cocoa.259`; nil when no incident
  /// records error codes.
  package var codes: String?
  package var model: Model?
  /// The ids of the damage findings, each with the kind of place that is damaged, for example
  /// `page.badType in a table of an entity`. Sorted, without duplicates.
  package var damage: [String] = []
  /// The ids of the analysers whose conditions hold for the input, sorted.
  package var analysers: [String] = []
  /// The app's version, followed by its build if the build is known, for example `2.1 (412)`. Nil without an incident.
  package var build: String?
  /// The version of SQLite that last wrote to the store; nil when it is not known.
  package var sqlite: String?

  package func hashed() -> Self {
    var result = self
    let damage = [String(damage.count)] + damage
    let analysers = [String(analysers.count)] + analysers
    let head = [
      "lifeboat.triage.\(TriageLine.currentVersion)", verdict, problem ?? "", codes ?? "",
    ]
    result.id = Self.hash(
      head + [model?.writtenBy ?? "", model?.expected ?? ""] + damage + analysers
        + [build ?? "", sqlite ?? ""])
    result.family = Self.hash(head + damage + analysers)
    return result
  }

  private static func hash(_ texts: [String]) -> String {
    var bytes: [UInt8] = []
    for text in texts {
      bytes += text.utf8
      bytes.append(0)
    }
    return String(Substring(Digest.sha256(bytes).utf8.prefix(16)))
  }

  /// The verdict, problem, codes, damage and analysers of the signature as one line of text, separated by commas.
  package var words: String {
    var parts = [verdict]
    if let problem { parts.append(problem) }
    if let codes { parts.append(codes) }
    parts += damage
    parts += analysers
    return parts.joined(separator: ", ")
  }
}

/// What support or the user has to do about an input.
package enum Fix: String, Sendable, Codable, CaseIterable {
  /// A key or a passphrase has to be found, because the input is encrypted.
  case key
  /// The user has to install a newer build of the app, which can open the store.
  case update
  /// The store has to be migrated to the app's model: `lifeboat migrate`.
  case migrate
  /// The input is incomplete, and has to be sent again with all its files.
  case resend
  /// The readable rows of a Core Data store can be put into a new store: `lifeboat salvage`.
  case salvage
  /// The readable rows of a plain SQLite file can be written into a new file: `lifeboat recover`.
  case recover
  /// The device or the system failed, so the app should open the store again later.
  case wait

  package var sentence: String {
    switch self {
    case .key: "The input is encrypted: read it with its key or passphrase."
    case .update: "Install a newer build of the app: an older one cannot read the store."
    case .migrate: "Migrate the store to the app's model, with lifeboat migrate."
    case .resend: "Ask for the file once more, with all files that belong to it."
    case .salvage:
      "Put the rows of the store into a new store, with lifeboat salvage. A store that carries no "
        + "model needs --model, too."
    case .recover: "Make a new file of what can be read, with lifeboat recover."
    case .wait: "Open the store again later: the device or the system failed, not the store."
    }
  }

  /// Chooses the remedy for the input of `line`. Nil when nothing is wrong, or when no remedy is known. If several
  /// remedies are possible, the first one that this initializer considers is chosen.
  ///
  /// `analyses`: the ids of the analysers whose conditions hold for the input.
  init?(of line: TriageLine, analyses: [String]) {
    let signature = line.signature
    let problem = signature.problem ?? ""
    if ["file.looksEncrypted", "cipher.noKeyFits", "age.noKeyFits", "backup.encrypted"].contains(
      problem)
    {
      self = .key
    } else if [TriageSignature.noStore, TriageSignature.noStoreInBundle].contains(problem) {
      self = .resend
    } else if [TriageSignature.restored, TriageSignature.putBack].contains(problem) {
      return nil
    } else if signature.verdict == "newer" {
      self = .update
    } else if signature.verdict == "incompatible" {
      self = .migrate
    } else if Self.isNotWhole(problem)
      || analyses.contains(where: { [Analysis.cutShort, Analysis.logMissing].contains($0) })
    {
      self = .resend
    } else if analyses.contains(Analysis.metadataLost) {
      self = .salvage
    } else if Self.lacksOnlyFiles(signature.damage) {
      // Missing external files cannot be recovered from the store.
      self = .resend
    } else if signature.verdict == TriageSignature.corrupt || !signature.damage.isEmpty {
      self = Self.repair(line)
    } else if signature.verdict == "unavailable" {
      self = .wait
    } else {
      return nil
    }
  }

  /// Returns the command for a damaged file. A store without a kind was not read; if an incident names its app, it is a
  /// Core Data store.
  private static func repair(_ line: TriageLine) -> Fix {
    let recorded = line.store?.kind.flatMap { CoreDataStore.Kind(rawValue: $0) }
    let kind = recorded ?? (line.app == nil ? .sqlite : .coreData)
    return RepairCommand(kind: kind, carriesModel: true) == .recover ? .recover : .salvage
  }

  /// Whether the damage consists only of missing external files.
  private static func lacksOnlyFiles(_ damage: [String]) -> Bool {
    !damage.isEmpty
      && damage.allSatisfy { PathText.starts($0, with: "coredata.externalFileMissing ") }
  }

  /// Whether an error code means that a bundle was changed or truncated after it was made. Includes `bundle.notAZip`,
  /// because a truncated zip archive has no end record.
  private static func isNotWhole(_ code: String) -> Bool {
    [
      "bundle.notAZip", "bundle.truncated", "bundle.entryChanged", "bundle.badData",
      "bundle.badDirectory",
      "bundle.headerMismatch", "bundle.sizeMismatch", "bundle.checksumMismatch",
      "bundle.badManifest", "age.headerChanged", "age.contentChanged", "age.truncated",
    ].contains(code)
  }
}
