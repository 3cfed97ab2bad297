import Foundation

/// The result of triage for one input: a bundle, the folder of an incident, an archive, or a store. The result is
/// written as one line of JSON.
///
/// A line contains names of entities and tables, codes and counts. It never contains a value of a row.
package struct TriageLine: Sendable, Codable, Equatable {
  /// The value of the property `schema` in every line.
  package static let schemaName = "lifeboat.triage"
  /// The version of the line's JSON form that this version of Lifeboat writes.
  package static let currentVersion = 1

  package enum Kind: String, Sendable, Codable, CaseIterable {
    case bundle
    /// An archive with a store, but not a support bundle.
    case archive
    /// The folder of an incident.
    case incident
    /// A store, either as an ordinary file or in a phone's backup.
    case store
    /// An input of unknown kind: it is missing, cannot be read, or is not an ordinary file.
    case unknown
  }

  /// The reason why an input could not be read. Also thrown where triage itself rejects an input; the errors of the
  /// readers of stores and archives have types of their own.
  package struct Failed: Error, Codable, Equatable {
    /// A stable code for the reason. Other commands print the same code for the same reason.
    package var code: String
    /// The reason why the input could not be read, in a sentence without a full stop.
    package var message: String

    package init(code: String, message: String) {
      self.code = code
      self.message = message
    }

    /// Whether another attempt to read the input may succeed. True if the cause was a lack of time, memory or
    /// permission, a failure of the device or system, or another program that was writing to the input.
    package var mayBeGone: Bool { Self.passing.contains(code) }

    private static let passing: Set<String> = [
      "triage.timeout", "triage.workerEnded", "file.io", "file.permission", "output.io",
      "output.cannotCreate", "bundle.cannotCreate", "bundle.writeFailed", "bundle.readFailed",
      "bundle.permissionDenied", "bundle.changedWhileReading", "evidence.changedDuringRead",
      "writer.cannotCreate", "writer.cannotOpen", "writer.full", "writer.io", "seal.unreadable",
      "seal.changing", "seal.changed",
    ]
  }

  /// The app that the store belongs to, according to the record of the incident.
  package struct App: Sendable, Codable, Equatable {
    package var name: String
    package var version: String
    package var build: String?
  }

  package struct Store: Sendable, Codable, Equatable {
    /// The kind of store: `coreData`, `coreDataShaped` or `sqlite`; nil when the store was not read, and only the
    /// record of an incident describes the store.
    package var kind: String?
    /// The UUID in the store's metadata; nil when it is not known.
    package var uuid: String?
    /// The operating systems that contain the Core Data version in the store's metadata, for example
    /// `iOS 17 or macOS 14`. Nil when these systems are not known.
    package var system: String?
  }

  /// The sizes of an input and of its store. A size that is unknown is nil.
  package struct Sizes: Sendable, Codable, Equatable {
    /// The size of the input in bytes. For a bundle or archive, this is the size of the archive file on disk; for a
    /// store, the total size of the store's files.
    package var inputBytes: Int64?
    /// The size of the store's main file, in bytes.
    package var storeBytes: Int64?
    /// The size of the write-ahead log, in bytes; nil without a log.
    package var logBytes: Int64?
    /// The number of pages that the database has after its last commit.
    package var pages: Int64?
  }

  /// The findings of a check: the number of findings of damage, the number of notes, and the places with the most
  /// damage.
  package struct Findings: Sendable, Codable, Equatable {
    package var damage: Int
    package var notes: Int
    /// The places with the most findings of damage, at most ``DamagePlaces/shown``.
    package var places: [DamagePlaces.Place]
  }

  /// Numbers of rows. A number that is unknown is nil here, and null in JSON.
  package struct Rows: Sendable, Codable, Equatable {
    /// The number of rows that SQLite would read.
    package var live: Int?
    /// The number of rows that are lost; 0 for an undamaged store.
    package var lost: Int?
    /// The number of rows that a recovery would write into a new file.
    package var recoverable: Int?

    package init(live: Int? = nil, lost: Int? = nil, recoverable: Int? = nil) {
      self.live = live
      self.lost = lost
      self.recoverable = recoverable
    }

    package func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(live, forKey: .live)
      try container.encode(lost, forKey: .lost)
      try container.encode(recoverable, forKey: .recoverable)
    }
  }

  /// What happened at the time in ``date``.
  package enum DateSource: String, Sendable, Codable {
    /// The store was set aside. The date comes from the incident.
    case incident
    /// The bundle was made.
    case bundle
    /// The store's main file was last changed at this date.
    case file
  }

  package var schema = schemaName
  package var version = currentVersion
  /// The path of the input. Bytes that are not UTF-8 are written in the form `\xE9`.
  package var path: String
  package var kind: Kind
  /// How much of the user's data a bundle holds, according to the bundle's manifest; nil for any other input.
  package var contents: String?
  /// Whether a bundle or archive is encrypted; nil for any other input.
  package var isEncrypted: Bool?
  /// The reason why the input could not be read; nil when it was read.
  package var failed: Failed?
  package var signature = TriageSignature()
  /// The remedy for the input; nil when nothing is wrong, or when no remedy is known.
  package var fix: Fix?
  package var app: App?
  package var store: Store?
  package var sizes: Sizes?
  package var findings: Findings?
  package var rows = Rows()
  /// The time of the event in ``dateSource``, in UTC, to the second, for example `2026-11-20T21:53:07Z`. Nil when the
  /// time is not known.
  package var date: String?
  package var dateSource: DateSource?
  /// The number of seconds that reading the input took. Nil unless the caller asked for it, because the number makes
  /// equal lines differ from run to run.
  package var seconds: Double?

  package var needsCare: Bool { failed != nil || signature.verdict != TriageSignature.healthy }

  /// Whether the line of the input may change when the unchanged input is read again. True if the first reading failed
  /// for a cause that may be gone (``Failed/mayBeGone``). For an incident that was read without a failure, the problem
  /// in ``signature`` decides. The problem of a bundle is ignored, because it may have occurred on the machine that
  /// made the bundle.
  package var mayDiffer: Bool {
    let problem = kind == .incident ? signature.problem : nil
    return (failed ?? problem.map { Failed(code: $0, message: "") })?.mayBeGone ?? false
  }

  /// Whether a later run has to read the unchanged input again. True if the failure may be gone by then, or if the
  /// input needs a key, which the later run may have.
  package var isToBeReadAgain: Bool { mayDiffer || fix == .key }

  package init(path: String, kind: Kind) {
    self.path = path
    self.kind = kind
  }

  /// Creates a line for an input that could not be read, and computes the hashes of the line's signature.
  package init(path: String, kind: Kind = .unknown, failed: Failed) {
    self.init(path: path, kind: kind)
    fail(failed)
    signature = signature.hashed()
  }

  /// Records the reason why the input could not be read, and sets the verdict, the problem and the remedy accordingly.
  package mutating func fail(_ reason: Failed) {
    failed = Failed(
      code: ShortText.word(reason.code), message: ShortText.sentence(reason.message))
    signature.verdict = TriageSignature.unread
    signature.problem = ShortText.word(reason.code)
    fix = Fix(of: self, analyses: [])
  }

  /// Returns the line as JSON with sorted keys, without spaces and without a line end. Equal lines give equal bytes.
  package func json() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(self))
  }

  /// Reads a line from JSON.
  ///
  /// - Throws: `DecodingError` when the bytes are not a triage line in JSON.
  package init(json: some Sequence<UInt8>) throws {
    self = try JSONDecoder().decode(Self.self, from: Data(json))
  }
}

/// Shortens strings that come from files, so that triage lines stay short.
enum ShortText {
  /// The maximum numbers of Unicode scalars in a name and in a sentence.
  private static let limits = (name: 100, sentence: 500)

  static func name(_ text: String) -> String { cut(text, limits.name) }
  static func sentence(_ text: String) -> String { cut(text, limits.sentence) }

  /// Returns `text` if it has the form of a code: at most 100 ASCII letters, digits, dots and hyphens. Otherwise
  /// returns `other`.
  static func word(_ text: String) -> String {
    let isWord =
      !text.utf8.isEmpty && text.utf8.count <= limits.name
      && text.utf8.allSatisfy {
        (0x30...0x39).contains($0) || (0x61...0x7a).contains($0 | 0x20)
          || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-")
      }
    return isWord ? text : "other"
  }

  private static func cut(_ text: String, _ limit: Int) -> String {
    // Each scalar takes at least one byte, so a text of at most `limit` bytes has at most `limit` scalars.
    if text.utf8.count <= limit { return text }
    let cut = text.unicodeScalars.prefix(limit)
    return cut.endIndex == text.unicodeScalars.endIndex ? text : String(cut) + "…"
  }

  /// Returns a time in ISO 8601 and UTC without fractions of a second; nil when the text is not a time in this form.
  static func second(_ text: String) -> String? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 20, bytes.count <= 40, bytes.last == UInt8(ascii: "Z") else { return nil }
    let form = Array("0000-00-00T00:00:00".utf8)
    for (byte, wanted) in zip(bytes, form) {
      let isDigit = (0x30...0x39).contains(byte)
      guard wanted == UInt8(ascii: "0") ? isDigit : byte == wanted else { return nil }
    }
    return String(decoding: bytes[..<form.count], as: UTF8.self) + "Z"
  }

  /// Returns a date as ISO 8601 in UTC, to the second; nil for a year before 1 or after 9999.
  static func second(_ date: Date) -> String? {
    // ISO 8601 writes years of more than four digits in another form.
    guard date.timeIntervalSince1970 > -62_135_596_800, date.timeIntervalSince1970 < 253_402_300_800
    else { return nil }
    return date.ISO8601Format()
  }
}
