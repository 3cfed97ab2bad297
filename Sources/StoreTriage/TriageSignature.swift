import SafeText
import StoreExtraction
import StoreFiles

/// What two inputs of the same case share: verdict, codes, places of damage and more, and two short hashes of these.
///
/// The hash ``id`` is the first 16 hexadecimal digits of the SHA-256 of these texts, each followed by a zero byte:
/// `lifeboat.triage.1`, verdict, problem, codes, model that wrote the store, model that the app expects, number of
/// places of damage, each place, number of analysers, each analyser, build, SQLite version. An unknown text counts as
/// an empty one. ``family`` is made in the same way without the models, the build and the SQLite version: the family
/// says what happened, whatever the app and the system.
package struct TriageSignature: Sendable, Codable, Equatable {
  /// The verdict on an input in which nothing wrong was found.
  package static let healthy = "healthy"
  /// The verdict on an input that could not be read.
  package static let unread = "unread"
  /// The verdict on a damaged store if no incident gives another verdict.
  package static let corrupt = "corrupt"
  /// The problem of an incident that has its record, but not its store.
  static let noStore = "incident.noStore"
  /// The problem of an incident whose store the user has restored, so that only the record is left.
  static let restored = "incident.restored"
  /// The problem of an incident whose store was put back at once, because no fresh store could be opened.
  static let putBack = "incident.putBack"
  /// The problem of a bundle that has neither the files of its store nor records about them.
  static let noStoreInBundle = "bundle.noStore"
  /// The maximum number of places of damage in a signature.
  static let mostPlaces = 64

  /// The model that wrote the store, and the model that the app expects. Each is a name, or the beginning of a
  /// checksum.
  package struct Model: Sendable, Codable, Equatable {
    /// The model that wrote the store; nil when it is not known.
    package var writtenBy: String?
    /// The model that the app expects; nil unless an incident records it.
    package var expected: String?
  }

  /// The hash of the whole signature; empty before ``hashed()``.
  package var id = ""
  /// The hash of the signature without models, build and SQLite version; empty before ``hashed()``.
  package var family = ""
  /// The verdict of the incident; for an input without one, `healthy`, `corrupt` or `unread`.
  package var verdict: String
  /// The code that says why the store, or a part of it, could not be read; nil when all was read.
  package var problem: String?
  /// The error codes of the failed open, such as `sqlite.779 cocoa.259`; nil when no incident records any.
  package var codes: String?
  package var model: Model?
  /// The kinds and places of damage, each once, sorted: `page.badType in a table of an entity`.
  package var damage: [String] = []
  /// The ids of the analysers whose conditions hold, sorted.
  package var analysers: [String] = []
  /// The app's version, with its build if that is known: `2.1 (412)`. Nil without an incident.
  package var build: String?
  /// The version of SQLite that last wrote to the store; nil when it is not known.
  package var sqlite: String?

  init(verdict: String = Self.unread) { self.verdict = verdict }

  /// The signature with its hashes ``id`` and ``family`` computed.
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

  /// What happened, in a few words: verdict, problem, codes, damage and analysers.
  package var words: String {
    var parts = [verdict]
    if let problem { parts.append(problem) }
    if let codes { parts.append(codes) }
    parts += damage
    parts += analysers
    return parts.joined(separator: ", ")
  }
}

/// The remedy for an input of triage.
package enum Fix: String, Sendable, Codable, CaseIterable {
  /// The input is encrypted, and a key or passphrase opens it.
  case key
  /// The user has to install a newer build of the app, which opens the store.
  case update
  /// The store has to be migrated to the app's model: `lifeboat migrate`.
  case migrate
  /// The input is not complete, and has to be sent again with all its files.
  case resend
  /// The rows are there, but Core Data's own tables are not: `lifeboat salvage`.
  case salvage
  /// A new file can be made of what is readable: `lifeboat recover`.
  case recover
  /// The device or the system failed, so the app should open the store again later.
  case wait

  /// What support has to do, as a sentence.
  package var sentence: String {
    switch self {
    case .key: "Read the input with its key or passphrase."
    case .update: "Install a newer build of the app: an older one cannot read the store."
    case .migrate: "Migrate the store to the app's model, with lifeboat migrate."
    case .resend: "Ask for the file once more, with all files that belong to it."
    case .salvage: "Put the rows of the store into a new store, with lifeboat salvage."
    case .recover: "Make a new file of what can be read, with lifeboat recover."
    case .wait: "Try again later: the device or the system had failed."
    }
  }

  /// Chooses the remedy for the input of a line by the first rule that applies; nil when no rule applies. `analyses`
  /// are the ids of the analysers that apply.
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
      // Missing files of external data cannot be recovered from the store.
      self = .resend
    } else if signature.verdict == TriageSignature.corrupt || !signature.damage.isEmpty {
      self = .recover
    } else if signature.verdict == "unavailable" {
      self = .wait
    } else {
      return nil
    }
  }

  /// Whether the only damage is that files of external data are missing.
  private static func lacksOnlyFiles(_ damage: [String]) -> Bool {
    !damage.isEmpty
      && damage.allSatisfy { PathText.starts($0, with: "coredata.externalFileMissing ") }
  }

  /// Whether a code says that a bundle was changed or cut off after it was made. This includes the code for a file that
  /// begins like a zip archive and is not one, because the end of the archive is missing.
  private static func isNotWhole(_ code: String) -> Bool {
    [
      "bundle.notAZip", "bundle.truncated", "bundle.entryChanged", "bundle.badData",
      "bundle.badDirectory",
      "bundle.headerMismatch", "bundle.sizeMismatch", "bundle.checksumMismatch",
      "bundle.badManifest", "age.headerChanged", "age.contentChanged", "age.truncated",
    ].contains(code)
  }
}
