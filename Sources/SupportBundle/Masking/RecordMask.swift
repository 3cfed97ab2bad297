import StoreExtraction
import CoreDataForensics
import StoreFiles
import SQLiteFile
import SQLiteForensics
import SafeText

/// Masks the strings in a record before the record is written as JSON, so that the record may be passed on.
///
/// A record is an entry of the bundle that describes the store or the incident. A token replaces each string that no
/// rule allows. So if a new version of Lifeboat adds a key to a record, the strings of this key stay hidden until
/// someone adds a rule for the key.
struct RecordMask {
  private enum Rule {
    /// A string that is shown unchanged, because Lifeboat makes it: a fixed word, a date or a version number.
    case word
    /// A sentence that Lifeboat or the host app has written. The sentence is shown, but names and paths in it are
    /// masked.
    case sentence
    /// A string that is shown unchanged if the closure returns true for the string. If the closure returns false, a
    /// token of the given kind replaces the string.
    case form(NameTokens.Kind, @Sendable (String) -> Bool)
    /// The path or name of the store's main file.
    case store
    /// The name of a file of the store set, such as the main file or the log.
    case member
    /// The path of a folder. The string `.` replaces the path.
    case folder
    /// A sentence that says why a part of the store cannot be read. The masked record does not contain this sentence,
    /// because it may quote the content of the store.
    case quoting
  }

  private(set) var tokens = NameTokens()
  private var folders = FolderNames()
  private let storeName: String
  /// Whether row ids are removed from sentences. In a table with an `INTEGER PRIMARY KEY` column, the row id is the
  /// value of this column, and the user may have entered the value.
  var hidesRowIDs = false

  init(storePath: String) {
    storeName = PathText.lastComponent(of: storePath)
    add(folder: PathText.folder(of: storePath))
  }

  mutating func add(folder: String) { folders.add(folder) }

  /// Ends the records about an incident and begins the records about the store. The records about the incident must be
  /// masked before this call.
  mutating func beginStore() { tokens.isOfStore = true }

  // MARK: - Records

  /// Returns `record` with tokens in place of the strings that must stay hidden. `key` is the JSON key under which
  /// `record` is stored; empty for a whole record. Names get their tokens first, so that they are also recognised in
  /// sentences.
  mutating func masked(_ record: JSONValue, _ key: String) -> JSONValue {
    let named = walk(record, "", key, isSentences: false)
    return walk(named, "", key, isSentences: true)
  }

  private mutating func walk(_ value: JSONValue, _ parent: String, _ key: String, isSentences: Bool)
    -> JSONValue
  {
    switch value {
    case .string(let text):
      let rule = Self.rule(parent, key)
      if case .sentence = rule { return .string(isSentences ? sentence(text) : text) }
      return .string(isSentences ? text : masked(text, rule))
    case .array(let list):
      return .array(list.map { walk($0, parent, key, isSentences: isSentences) })
    case .object(let members):
      var result: [String: JSONValue] = [:]
      let isMap = Self.mapsOfEntities.contains(key)
      for (name, member) in members.sorted(by: { $0.key < $1.key }) {
        if isMap {
          let shown = isSentences ? name : self.name(name, .entity, NameForm.isIdentifier)
          result[shown] = walk(member, key, "*", isSentences: isSentences)
        } else {
          result[name] = walk(member, key, name, isSentences: isSentences)
        }
      }
      if isSentences, case .string(let id)? = result["id"], result["message"] != nil,
        key == "findings" && !Self.quotesNothing(id)
          || key == "notChecked" && Self.namesFiles(id)
      {
        result["message"] = .string(Self.leftOut)
      }
      return .object(result)
    default: return value
    }
  }

  private mutating func masked(_ text: String, _ rule: Rule?) -> String {
    // An empty string reveals nothing, so it needs no token. Core Data writes an empty version identifier.
    if text.utf8.isEmpty { return text }
    return switch rule {
    case .word, .sentence: text
    case .form(let kind, let isUsual): name(text, kind, isUsual)
    case .store: storeFile(PathText.lastComponent(of: text))
    case .member: member(text)
    case .folder: "."
    case .quoting: Self.leftOut
    case nil: tokens.token(for: text, .other)
    }
  }

  // MARK: - Names

  mutating func name(
    _ text: String, _ kind: NameTokens.Kind, _ isUsual: (String) -> Bool
  ) -> String {
    isUsual(text) ? text : tokens.token(for: text, kind)
  }

  /// Returns `text` if it is the name of a part of the schema and an identifier (``NameForm/isIdentifier(_:)``);
  /// otherwise a token. `isName` says whether the schema declares `text` as a name.
  mutating func schemaName(_ text: String, isName: Bool) -> String {
    isName && NameForm.isIdentifier(text) ? text : tokens.token(for: text, .schema)
  }

  /// Returns the name of the store's main file, or a token if it is not a plain file name
  /// (``NameForm/isPlainFileName(_:)``).
  mutating func storeFile() -> String { storeFile(storeName) }

  private mutating func storeFile(_ name: String) -> String {
    self.name(name, .store, NameForm.isPlainFileName)
  }

  /// Returns the name of a file of the store set, with tokens in place of unusual path components. Names that SQLite
  /// and Core Data derive from the name of the main file stay readable. In the folder of external data, only UUIDs stay
  /// readable.
  mutating func member(_ name: String) -> String {
    let parts = PathText.components(of: name)
    let main = storeFile()
    var shown: [String] = []
    for (index, part) in parts.enumerated() {
      if index > 0 {
        let isUsual = PathText.isSame(part, "_EXTERNAL_DATA") || NameForm.isUUID(part)
        shown.append(isUsual ? part : tokens.token(for: part, .supportFile))
      } else if let suffix = ["", "-wal", "-shm", "-journal"].first(where: {
        PathText.isSame(part, storeName + $0)
      }) {
        shown.append(main + suffix)
      } else if PathText.isSame(part, StoreSet.supportName(for: storeName)) {
        shown.append(StoreSet.supportName(for: main))
      } else if let rest = PathText.dropping(
        prefix: "." + storeName + ".migrationdestination_", from: part)
      {
        shown.append("." + main + ".migrationdestination_" + migration(rest))
      } else {
        shown.append(tokens.token(for: part, .supportFile))
      }
    }
    return shown.joined(separator: "/")
  }

  private mutating func migration(_ rest: String) -> String {
    let suffix = ["-wal", "-shm", "-journal"].first { PathText.ends(rest, with: $0) } ?? ""
    let id = PathText.dropping(suffix: suffix, from: rest) ?? rest
    let isUsual = NameForm.isHexadecimal(id) || NameForm.isUUID(id)
    return (isUsual ? id : tokens.token(for: id, .supportFile)) + suffix
  }

  // MARK: - Sentences

  static let leftOut = "left out: the text may quote the store"

  /// Returns `text` without the paths of folders, and with tokens in place of names that already have a token. A name
  /// is replaced only where it is a whole word.
  func sentence(_ text: String) -> String {
    var bytes = Array(folders.without(text).utf8)
    if hidesRowIDs { bytes = Self.withoutRowIDs(bytes) }
    guard !tokens.lengths.isEmpty else { return String(decoding: bytes, as: UTF8.self) }
    var result: [UInt8] = []
    var index = 0
    while index < bytes.count {
      if let (token, count) = token(in: bytes, at: index) {
        result += token.utf8
        index += count
      } else {
        result.append(bytes[index])
        index += 1
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// Returns the bytes with `…` in place of each number that follows a word such as `row`, `id` or `key`.
  private static func withoutRowIDs(_ bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var place = 0
    while place < bytes.count {
      let isNumber = NameForm.isDigit(bytes[place]) || bytes[place] == UInt8(ascii: "-")
      let word = result.reversed().drop { $0 == 0x20 }.prefix(while: NameForm.isWord).reversed()
      guard isNumber, place > 0, bytes[place - 1] == 0x20,
        ["row", "rows", "id", "ids", "key", "keys"].contains(where: { word.elementsEqual($0.utf8) })
      else {
        result.append(bytes[place])
        place += 1
        continue
      }
      result += Array("…".utf8)
      place += 1
      while place < bytes.count,
        NameForm.isDigit(bytes[place])
          || bytes[place] == UInt8(ascii: ",") && place + 1 < bytes.count
            && NameForm.isDigit(bytes[place + 1])
      { place += 1 }
    }
    return result
  }

  /// Returns the token of the name that begins at `index`, and the length of the name in bytes; nil when no name with a
  /// token begins there. If several names begin there, returns the token of the longest one.
  private func token(in text: [UInt8], at index: Int) -> (String, count: Int)? {
    guard index == 0 || !Self.joins(text[index - 1], text[index]) else { return nil }
    for count in tokens.lengths {
      let end = index + count
      guard end <= text.count, end == text.count || !Self.joins(text[end - 1], text[end]),
        let token = tokens.token(of: text[index..<end])
      else { continue }
      return (token, count)
    }
    return nil
  }

  /// Whether two adjacent bytes belong to the same word. Only ASCII letters and digits form words here, because other
  /// scripts may write words without spaces.
  private static func joins(_ one: UInt8, _ other: UInt8) -> Bool {
    NameForm.isWord(one) && NameForm.isWord(other)
  }

  /// Whether the message of a finding with this id contains only fixed text and numbers, and so quotes nothing from the
  /// file. This is true for messages about bytes, pages and records. Messages about schemas, models and entities quote
  /// names from the file.
  static func quotesNothing(_ id: String) -> Bool {
    guard let dot = id.utf8.firstIndex(of: UInt8(ascii: ".")) else { return false }
    return families.contains(String(id[..<dot])) || exceptions.contains(.init(rawValue: id))
  }

  /// Whether the messages of findings with this id contain names of files beside the store. Such a message is left out,
  /// because no tokens are known for these names.
  private static func namesFiles(_ id: String) -> Bool {
    id == Finding.ID.storeFilesUnread.rawValue
  }

  private static let families: Set<String> = [
    "cell", "file", "freeblock", "freelist", "header", "index", "journal", "overflow", "page",
    "ptrmap", "record", "row", "text", "tree", "wal",
  ]
  private static let exceptions: Set<Finding.ID> = [
    .coredataBadDigest, .coredataMetadataMissing, .coredataModelMismatch,
    .schemaBadType, .schemaLost,
  ]

  // MARK: - Rules

  /// The keys whose values are JSON objects with names of entities as keys.
  private static let mapsOfEntities: Set<String> = [
    "versionHashes", "hashes", "recordedHashes", "expectedHashes",
  ]

  private static func rule(_ parent: String, _ key: String) -> Rule? {
    rules[parent + "." + key] ?? rules[key]
  }

  private static let entity = Rule.form(.entity, NameForm.isIdentifier)
  private static let uuid = Rule.form(.identifier, NameForm.isUUID)
  private static let digest = Rule.form(
    .digest, { NameForm.isDigest($0) || NameForm.isHexadecimal($0) })
  private static let version = Rule.form(.version, NameForm.isVersionName)
  private static let dotted = Rule.form(.other, NameForm.isDotted)

  /// The masking rule for the value of each JSON key. A key such as `app.name` stands for the key `name` in the object
  /// `app`.
  private static let rules: [String: Rule] = [
    // Keys of all records.
    "schema": .word, "kind": .word, "role": .word, "severity": .word, "id": dotted,
    "member": .word, "message": .sentence, "code": dotted, "sha256": digest, "*": digest,
    // Keys of the inspection.
    "path": .store, "members.name": .member, "changedDuringRead": .member, "findings": dotted,
    "table": .form(.schema, NameForm.isIdentifier), "entities.name": entity,
    "tables.name": .form(.schema, NameForm.isIdentifier),
    "plainTables.name": .form(.schema, NameForm.isIdentifier),
    "otherKeys.name": .form(.key, NameForm.isKey),
    "textEncoding": .word, "autoVacuum": .word, "journalMode": .word, "sqliteVersion": .word,
    "state": .word, "encryption": .word, "writeAheadLog.problem": .sentence,
    "metadata.problem": .quoting,
    "model.problem": .quoting, "source": .word, "system": .word, "uuid": uuid,
    "digest": digest, "checksum": digest, "versionIdentifiers": version,
    // Keys of the incident.
    "created": .word, "folder": .folder, "storeName": .store, "storeUUID": uuid,
    "app.name": .sentence, "app.version": version, "app.build": version, "toolVersion": version,
    "finding": .word, "action": .word, "reason": .sentence,
    "rule": .form(.other, NameForm.isRule),
    "writtenBy": version, "expected": version, "expectedVersion": version,
    "onlyInStore": entity, "onlyInModel": entity, "differing": entity, "agreeing": entity,
    "undecided": entity, "files.name": .member, "mainKind": .word, "domain": dotted,
    "meaning": .word, "fingerprint": .sentence, "incidents": dotted, "copy": .word,
    "witness": .word, "witnesses": .word,
    "title": .sentence, "whatHappened": .sentence, "whatWasKept": .sentence,
    "whatToDo": .sentence, "besideNote": .sentence, "language": dotted,
  ]
}
