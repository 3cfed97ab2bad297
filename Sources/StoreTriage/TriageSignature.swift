import SafeText
import StoreExtraction
import StoreFiles

/// What makes two inputs the same case: a tuple in words, and short hashes of it.
///
/// The hash `id` is the first 16 hexadecimal digits of the SHA-256 of these texts, each followed by a zero byte, an
/// unknown one as an empty text: `lifeboat.triage.1`, verdict, problem, codes, model that wrote the store, model that
/// the app expects, number of places of damage, each place, number of analysers, each analyser, build, SQLite version.
/// `family` leaves out the models, the build and the SQLite version: what happened, whatever it happened to.
package struct TriageSignature: Sendable, Codable, Equatable {
  /// The verdict on an input in which nothing is wrong.
  package static let healthy = "healthy"
  /// The verdict on an input that could not be read.
  package static let unread = "unread"
  /// The verdict on a store with damage of which no incident says more.
  package static let corrupt = "corrupt"
  /// The problem of an incident whose record is there and whose store is not.
  static let noStore = "incident.noStore"
  /// The same where the record says that the app has the store back: on request, or because it had no other.
  static let restored = "incident.restored"
  static let putBack = "incident.putBack"
  /// The problem of a bundle that says nothing of its store.
  static let noStoreInBundle = "bundle.noStore"
  /// The most places of damage in a signature.
  static let mostPlaces = 64

  /// The model versions of both sides.
  package struct Model: Sendable, Codable, Equatable {
    /// What wrote the store.
    package var writtenBy: String?
    /// What the app expects; nil unless an incident says it.
    package var expected: String?
  }

  /// The hash of all of it.
  package var id = ""
  /// The hash of what happened.
  package var family = ""
  /// The verdict of the incident; without one `healthy`, `corrupt` or `unread`.
  package var verdict: String
  /// Why the store cannot be read; nil when it was.
  package var problem: String?
  /// The codes of the failed open: `sqlite.779 cocoa.259`; nil without an incident.
  package var codes: String?
  package var model: Model?
  /// Kind and place of the damage, each once, sorted: `page.badType in a table of an entity`.
  package var damage: [String] = []
  /// The analysers whose conditions hold, sorted.
  package var analysers: [String] = []
  /// The app's version and build: `2.1 (412)`.
  package var build: String?
  /// The version of SQLite that wrote last.
  package var sqlite: String?

  init(verdict: String = Self.unread) { self.verdict = verdict }

  /// The signature with its hashes.
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

  /// What happened, as a sentence of a few words.
  package var words: String {
    var parts = [verdict]
    if let problem { parts.append(problem) }
    if let codes { parts.append(codes) }
    parts += damage
    parts += analysers
    return parts.joined(separator: ", ")
  }
}

/// What helps with an input.
package enum Fix: String, Sendable, Codable, CaseIterable {
  /// A key or passphrase opens it.
  case key
  /// A newer build of the app opens the store.
  case update
  /// The store has to be migrated to the app's model: `lifeboat migrate`.
  case migrate
  /// What was sent is not whole: it is to be sent again, with all its files.
  case resend
  /// The rows are there, and Core Data's own tables are not: `lifeboat salvage`.
  case salvage
  /// A new file can be made of what can be read: `lifeboat recover`.
  case recover
  /// The device or the system failed: to be tried again.
  case wait

  /// What to do, as a sentence.
  package var sentence: String {
    switch self {
    case .key: "Read it with its key or passphrase."
    case .update: "Install a newer build of the app: an older one cannot read the store."
    case .migrate: "Migrate the store to the app's model, with lifeboat migrate."
    case .resend: "Ask for the file once more, with all files that belong to it."
    case .salvage: "Put its rows into a new store, with lifeboat salvage."
    case .recover: "Make a new file of what can be read, with lifeboat recover."
    case .wait: "Try again later: the device or the system had failed."
    }
  }

  /// What helps, by the first rule that holds; nil when none does.
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
      // No recovery brings them back.
      self = .resend
    } else if signature.verdict == TriageSignature.corrupt || !signature.damage.isEmpty {
      self = .recover
    } else if signature.verdict == "unavailable" {
      self = .wait
    } else {
      return nil
    }
  }

  /// Whether all damage is files of external data that are not beside the store.
  private static func lacksOnlyFiles(_ damage: [String]) -> Bool {
    !damage.isEmpty
      && damage.allSatisfy { PathText.starts($0, with: "coredata.externalFileMissing ") }
  }

  /// Whether a code says that a bundle was changed or cut on its way. What begins like a zip archive and is none lacks
  /// its end.
  private static func isNotWhole(_ code: String) -> Bool {
    [
      "bundle.notAZip", "bundle.truncated", "bundle.entryChanged", "bundle.badData",
      "bundle.badDirectory",
      "bundle.headerMismatch", "bundle.sizeMismatch", "bundle.checksumMismatch",
      "bundle.badManifest", "age.headerChanged", "age.contentChanged", "age.truncated",
    ].contains(code)
  }
}
