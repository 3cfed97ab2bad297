import Foundation

/// What triage says about one input: a bundle, the folder of an incident, or a store. It is a line of JSON.
///
/// A line has names of entities and tables, codes and counts. It never has a value of a row.
package struct TriageLine: Sendable, Codable, Equatable {
  /// The value of ``schema`` in every line.
  package static let schemaName = "lifeboat.triage"
  /// The version of the form that is written.
  package static let currentVersion = 1

  /// The kind of an input.
  package enum Kind: String, Sendable, Codable, CaseIterable {
    /// A support bundle.
    case bundle
    /// An archive that holds a store and is not a support bundle.
    case archive
    /// The folder of an incident.
    case incident
    /// A store: a file of its own, or one in a phone's backup.
    case store
    /// An input whose kind is not known: it is missing, cannot be read, or is not an ordinary file.
    case unknown
  }

  /// Why an input could not be read.
  package struct Failed: Sendable, Codable, Equatable {
    /// A stable code, the same that other commands print.
    package var code: String
    /// Why the input could not be read, in a sentence without a full stop.
    package var message: String

    /// A reason with its code and message.
    package init(code: String, message: String) {
      self.code = code
      self.message = message
    }

    /// Whether the failure may be gone when the same input is read again. This is so when time or memory ran out, a
    /// device or the system failed, the user had no permission, or another program was writing to the input.
    package var mayBeGone: Bool { Self.passing.contains(code) }

    private static let passing: Set<String> = [
      "triage.timeout", "triage.workerEnded", "file.io", "file.permission", "output.io",
      "output.cannotCreate", "bundle.cannotCreate", "bundle.writeFailed", "bundle.readFailed",
      "bundle.permissionDenied", "bundle.changedWhileReading", "evidence.changedDuringRead",
      "writer.cannotCreate", "writer.cannotOpen", "writer.full", "writer.io", "seal.unreadable",
      "seal.changing", "seal.changed",
    ]
  }

  /// The app that the store belongs to, as an incident names it.
  package struct App: Sendable, Codable, Equatable {
    package var name: String
    package var version: String
    package var build: String?
  }

  /// What is known about the store.
  package struct Store: Sendable, Codable, Equatable {
    /// The kind of store: `coreData`, `coreDataShaped` or `sqlite`; nil when only an incident tells of the store.
    package var kind: String?
    /// The store's UUID from its metadata; nil when it is not known.
    package var uuid: String?
    /// The system version that the recorded framework version belongs to, in words; nil when it is not known.
    package var system: String?
  }

  /// The sizes of an input and its store. Nil means unknown.
  package struct Sizes: Sendable, Codable, Equatable {
    /// The size of the bundle or archive, or of all files of a store, in bytes.
    package var inputBytes: Int64?
    /// The size of the store's main file, in bytes.
    package var storeBytes: Int64?
    /// The size of the write-ahead log, in bytes; nil without a log.
    package var logBytes: Int64?
    /// The number of pages of the database after its last commit.
    package var pages: Int64?
  }

  /// The number of findings of the check, and where the damage is.
  package struct Findings: Sendable, Codable, Equatable {
    package var damage: Int
    package var notes: Int
    /// The places with the most damage, at most ``DamagePlaces/shown``.
    package var places: [DamagePlaces.Place]
  }

  /// Numbers of rows. An unknown number is nil, and null in JSON.
  package struct Rows: Sendable, Codable, Equatable {
    /// The number of rows that SQLite would read.
    package var live: Int?
    /// The number of rows that are lost; 0 for an undamaged store.
    package var lost: Int?
    /// The number of rows that a recovery would bring into a new file.
    package var recoverable: Int?

    /// Numbers of rows; nil for each number that is unknown.
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

  /// The event whose time ``date`` gives.
  package enum DateSource: String, Sendable, Codable {
    /// The store was set aside: the time of the incident.
    case incident
    /// The bundle was made.
    case bundle
    /// The store's main file was last changed.
    case file
  }

  package var schema = schemaName
  package var version = currentVersion
  /// The path of the input. Bytes that are not UTF-8 are written as `\xE9`.
  package var path: String
  package var kind: Kind
  /// How much of the user's data a bundle holds, as its manifest says; nil for other inputs.
  package var contents: String?
  /// Whether a bundle or archive is encrypted; nil for other inputs.
  package var isEncrypted: Bool?
  /// Why the input could not be read; nil when it was read.
  package var failed: Failed?
  package var signature: TriageSignature
  /// The remedy for what is wrong; nil when nothing is wrong or no remedy is known.
  package var fix: Fix?
  package var app: App?
  package var store: Store?
  package var sizes: Sizes?
  package var findings: Findings?
  package var rows: Rows
  /// The time of the event in ``dateSource``, in UTC, to the second: `2026-11-20T21:53:07Z`. Nil when it is not known.
  package var date: String?
  package var dateSource: DateSource?
  /// How many seconds reading the input took. Nil unless asked for, because no two runs take the same time.
  package var seconds: Double?

  /// Whether somebody has to look at the input: it is not healthy, or could not be read.
  package var needsCare: Bool { failed != nil || signature.verdict != TriageSignature.healthy }

  /// Whether the same input may give a different line when it is read again, because the line reports a failure of the
  /// machine, such as a lack of memory. For an incident, the failure may be in ``TriageSignature/problem``. The problem
  /// of a bundle does not count: it may come from the machine that made the bundle.
  package var mayDiffer: Bool {
    let problem = kind == .incident ? signature.problem : nil
    return (failed ?? problem.map { Failed(code: $0, message: "") })?.mayBeGone ?? false
  }

  /// Whether a later run has to read the input again. True if the machine failed, because the failure may be gone by
  /// then. Also true if the input needs a key, because the later run may have the key.
  package var isToBeReadAgain: Bool { mayDiffer || fix == .key }

  /// A line that has only the path and the kind of its input.
  package init(path: String, kind: Kind) {
    self.path = path
    self.kind = kind
    signature = TriageSignature()
    rows = Rows()
  }

  /// A line for an input that could not be read. The hashes of the line's signature are computed.
  package init(path: String, kind: Kind = .unknown, failed: Failed) {
    self.init(path: path, kind: kind)
    fail(failed)
    signature = signature.hashed()
  }

  /// Records that the input could not be read, and why. Sets verdict, problem and fix accordingly.
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

  /// Reads a line from JSON.
  ///
  /// - Throws: `DecodingError` when the bytes are not a triage line in JSON.
  package init(json: some Sequence<UInt8>) throws {
    self = try JSONDecoder().decode(Self.self, from: Data(json))
  }
}

/// Cuts texts that come from files, so that a line stays short.
enum ShortText {
  /// The maximum number of Unicode scalars of a name and of a sentence.
  private static let limits = (name: 100, sentence: 500)

  static func name(_ text: String) -> String { cut(text, limits.name) }
  static func sentence(_ text: String) -> String { cut(text, limits.sentence) }

  /// Returns the text if it is a code, which has at most 100 ASCII letters, digits, dots and hyphens. Otherwise returns
  /// `other`.
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
    // A scalar takes at least one byte, so a text of at most `limit` bytes has at most `limit` scalars.
    if text.utf8.count <= limit { return text }
    let cut = text.unicodeScalars.prefix(limit)
    return cut.endIndex == text.unicodeScalars.endIndex ? text : String(cut) + "…"
  }

  /// Cuts a time in ISO 8601 and UTC to the second; nil when the text is not a time in this form.
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

  /// A date in ISO 8601 and UTC, to the second; nil for a year before 1 or after 9999.
  static func second(_ date: Date) -> String? {
    // Years of more than four digits have another form.
    guard date.timeIntervalSince1970 > -62_135_596_800, date.timeIntervalSince1970 < 253_402_300_800
    else { return nil }
    return date.ISO8601Format()
  }
}
