import Foundation

/// What triage says of one input: a bundle, the folder of an incident, or a store.
///
/// It names entities and tables, codes and counts. It never holds a value of a row.
package struct TriageLine: Sendable, Codable, Equatable {
  /// The value of `schema`.
  package static let schemaName = "lifeboat.triage"
  /// The version that is written.
  package static let currentVersion = 1

  /// What an input is.
  package enum Kind: String, Sendable, Codable, CaseIterable {
    /// A support bundle.
    case bundle
    /// An archive that holds a store and is no bundle.
    case archive
    /// The folder of an incident.
    case incident
    /// A store: a file, or one of a phone's backup.
    case store
    /// Nothing that can be told: missing, unreadable, not an ordinary file.
    case unknown
  }

  /// Why an input could not be read.
  package struct Failed: Sendable, Codable, Equatable {
    /// A stable code, as other commands give it.
    package var code: String
    /// What happened, in a sentence without a full stop.
    package var message: String

    /// A reason.
    package init(code: String, message: String) {
      self.code = code
      self.message = message
    }

    /// Whether the failure may be gone next time although the input is the same: its time or memory was not enough, the
    /// device or the system had failed, this user might not read it, or somebody wrote to it.
    package var mayBeGone: Bool { Self.passing.contains(code) }

    private static let passing: Set<String> = [
      "triage.timeout", "triage.workerEnded", "file.io", "file.permission", "output.io",
      "output.cannotCreate", "bundle.cannotCreate", "bundle.writeFailed", "bundle.readFailed",
      "bundle.permissionDenied", "bundle.changedWhileReading", "evidence.changedDuringRead",
      "writer.cannotCreate", "writer.cannotOpen", "writer.full", "writer.io", "seal.unreadable",
      "seal.changing", "seal.changed",
    ]
  }

  /// The app that the store belongs to.
  package struct App: Sendable, Codable, Equatable {
    package var name: String
    package var version: String
    package var build: String?
  }

  /// The store.
  package struct Store: Sendable, Codable, Equatable {
    /// `coreData`, `coreDataShaped` or `sqlite`; nil when only an incident speaks of it.
    package var kind: String?
    /// The UUID of its metadata.
    package var uuid: String?
    /// The system that the framework version belongs to.
    package var system: String?
  }

  /// Sizes in bytes, and pages.
  package struct Sizes: Sendable, Codable, Equatable {
    /// The bundle or archive itself; of a store, all of its files.
    package var inputBytes: Int64?
    /// The main file.
    package var storeBytes: Int64?
    /// The write-ahead log.
    package var logBytes: Int64?
    /// Pages after the last commit.
    package var pages: Int64?
  }

  /// What the check has found.
  package struct Findings: Sendable, Codable, Equatable {
    package var damage: Int
    package var notes: Int
    /// Where the damage is: the most frequent places, at most ``DamagePlaces/shown``.
    package var places: [DamagePlaces.Place]
  }

  /// Numbers of rows. What is unknown is null, never 0.
  package struct Rows: Sendable, Codable, Equatable {
    /// Rows that SQLite would read.
    package var live: Int?
    /// Rows that are lost.
    package var lost: Int?
    /// Rows that a recovery would save.
    package var recoverable: Int?

    /// Numbers; nil for what is unknown.
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

  /// What ``date`` is the date of.
  package enum DateSource: String, Sendable, Codable {
    /// The set was put aside then.
    case incident
    /// The bundle was made then.
    case bundle
    /// The main file was changed then.
    case file
  }

  package var schema = schemaName
  package var version = currentVersion
  /// The path, with bytes that are no UTF-8 as `\xE9`.
  package var path: String
  package var kind: Kind
  /// How much of the user's data a bundle holds; nil for other inputs.
  package var contents: String?
  /// Whether a bundle or archive is encrypted; nil for other inputs.
  package var isEncrypted: Bool?
  /// Why nothing else is known; nil when the input was read.
  package var failed: Failed?
  package var signature: TriageSignature
  /// What helps; nil when nothing has to be done, or nobody knows what.
  package var fix: Fix?
  package var app: App?
  package var store: Store?
  package var sizes: Sizes?
  package var findings: Findings?
  package var rows: Rows
  /// When it happened, in UTC, to the second: `2026-11-20T21:53:07Z`.
  package var date: String?
  package var dateSource: DateSource?
  /// The seconds that the input took; nil unless asked for, because no two runs take the same.
  package var seconds: Double?

  /// Whether support has something to do.
  package var needsCare: Bool { failed != nil || signature.verdict != TriageSignature.healthy }

  /// Whether reading the same input again may say something else, because the machine had failed. The store of an
  /// incident may be what was not read; the problem of a bundle may be one of the machine that made it.
  package var mayDiffer: Bool {
    let problem = kind == .incident ? signature.problem : nil
    return (failed ?? problem.map { Failed(code: $0, message: "") })?.mayBeGone ?? false
  }

  /// An input of which nothing is known but its path.
  package init(path: String, kind: Kind) {
    self.path = path
    self.kind = kind
    signature = TriageSignature()
    rows = Rows()
  }

  /// An input that could not be read.
  package init(path: String, kind: Kind = .unknown, failed: Failed) {
    self.init(path: path, kind: kind)
    fail(failed)
  }

  /// Says that the input could not be read.
  package mutating func fail(_ reason: Failed) {
    failed = Failed(
      code: ShortText.word(reason.code), message: ShortText.sentence(reason.message))
    signature.verdict = TriageSignature.unread
    signature.problem = ShortText.word(reason.code)
    fix = Fix(of: self, analyses: [])
  }

  /// The line as JSON: sorted keys, no spaces, no line end. Equal lines give equal bytes.
  package func json() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(self))
  }

  /// Reads a line.
  ///
  /// - Throws: `DecodingError` when it is none.
  package init(json: some Sequence<UInt8>) throws {
    self = try JSONDecoder().decode(Self.self, from: Data(json))
  }
}

/// Texts from a file that somebody else made, for a line: bounded, so that a line stays short.
enum ShortText {
  /// The most scalars of a name or version, and of a sentence.
  private static let limits = (name: 100, sentence: 500)

  static func name(_ text: String) -> String { cut(text, limits.name) }
  static func sentence(_ text: String) -> String { cut(text, limits.sentence) }

  /// A code of letters, digits and dots; `other` for any other text.
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
    // Most texts are short: a scalar has at least one byte.
    if text.utf8.count <= limit { return text }
    let cut = text.unicodeScalars.prefix(limit)
    return cut.endIndex == text.unicodeScalars.endIndex ? text : String(cut) + "…"
  }

  /// A time in ISO 8601, cut to its second, in UTC; nil for any other text.
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

  /// A date as ``second(_:)`` gives it.
  static func second(_ date: Date) -> String? {
    // Years of other lengths have another form.
    guard date.timeIntervalSince1970 > -62_135_596_800, date.timeIntervalSince1970 < 253_402_300_800
    else { return nil }
    return date.ISO8601Format()
  }
}
