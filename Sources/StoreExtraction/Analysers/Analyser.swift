import Foundation
import SafeFiles
import SafeText
import SQLiteFile
import StoreFiles

/// A rule written as JSON: if all conditions in `when` hold for a store, `verdict` and `sentence` say what may have
/// happened to the store.
///
/// ```json
/// {
///   "schema": "lifeboat.analyser", "version": 1, "id": "team.oldExport",
///   "when": [
///     {"fact": "file.sqliteVersion", "versionBefore": "3.43.0"},
///     {"fact": "tables", "includes": "ZEXPORT"}
///   ],
///   "verdict": "written by the old export",
///   "sentence": "Build 411 exported with a cut-off text; the fix is in build 420.",
///   "link": "https://example.org/411"
/// }
/// ```
///
/// A test of an unknown fact fails, except the test `"exists": false`.
package struct Analyser: Sendable, Equatable, Decodable {
  /// The analyser's identifier: 1 to 100 ASCII letters, digits, dots and hyphens. The identifier appears in output, so
  /// it must never change.
  package let id: String
  /// The 1 to 100 conditions. The analyser applies to a store only if all of them hold.
  let when: [Condition]
  /// The conclusion from the conditions in ``when``, in a few words.
  package let verdict: String
  /// What happened to the store and what to do about it, in one or two sentences.
  package let sentence: String
  /// The address of a page with more information; nil without such a page.
  package let link: String?

  /// One or more tests of one fact. The condition holds if all tests pass.
  struct Condition: Sendable, Equatable, Decodable {
    let fact: String
    var equals: AnalyserFacts.Value?
    var isNot: AnalyserFacts.Value?
    var atLeast: Double?
    var atMost: Double?
    var versionFrom: String?
    var versionBefore: String?
    var includes: AnalyserFacts.Value?
    var exists: Bool?

    enum CodingKeys: String, CodingKey, CaseIterable {
      case fact, equals = "is", isNot, atLeast, atMost, versionFrom, versionBefore, includes, exists
    }

    /// Whether the condition has at least one test of the fact's value.
    var testsValue: Bool {
      equals != nil || isNot != nil || atLeast != nil || atMost != nil || versionFrom != nil
        || versionBefore != nil || includes != nil
    }

    func holds(_ facts: AnalyserFacts) -> Bool {
      let value = facts[fact]
      if let exists, exists != (value != nil) { return false }
      guard let value else { return exists == false && !testsValue }
      if let equals, value != equals { return false }
      if let isNot, value == isNot { return false }
      if let atLeast, !(value.number.map { $0 >= atLeast } ?? false) { return false }
      if let atMost, !(value.number.map { $0 <= atMost } ?? false) { return false }
      if let versionFrom, !(value.version.map { !$0.precedes(versionFrom) } ?? false) {
        return false
      }
      if let versionBefore, !(value.version.map { $0.precedes(versionBefore) } ?? false) {
        return false
      }
      if let includes, !value.elements.contains(includes) { return false }
      return true
    }
  }

  private enum CodingKeys: String, CodingKey, CaseIterable {
    case schema, version, id, when, verdict, sentence, link
  }

  private struct AnyKey: CodingKey {
    let stringValue: String
    let intValue: Int? = nil
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    func wrong(_ what: String) -> DecodingError {
      .dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: what))
    }
    func check(_ keys: [String], _ known: [String], _ what: String) throws {
      if let other = Set(keys).subtracting(known).min() {
        throw wrong("\(what) has the unknown member \(other)")
      }
    }
    guard try container.decode(String.self, forKey: .schema) == "lifeboat.analyser" else {
      throw wrong("schema must be \"lifeboat.analyser\"")
    }
    guard try container.decode(Int.self, forKey: .version) == 1 else {
      throw wrong("only version 1 of lifeboat.analyser is supported")
    }
    try check(
      decoder.container(keyedBy: AnyKey.self).allKeys.map(\.stringValue),
      CodingKeys.allCases.map(\.rawValue), "the analyser")
    id = try container.decode(String.self, forKey: .id)
    guard !id.utf8.isEmpty, id.utf8.count <= 100,
      id.utf8.allSatisfy({
        (0x30...0x39).contains($0) || (0x41...0x5a).contains($0) || (0x61...0x7a).contains($0)
          || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-")
      })
    else { throw wrong("the id may have only letters, digits, dots and hyphens") }
    var list = try container.nestedUnkeyedContainer(forKey: .when)
    var conditions: [Condition] = []
    while !list.isAtEnd {
      let element = try list.superDecoder()
      try check(
        element.container(keyedBy: AnyKey.self).allKeys.map(\.stringValue),
        Condition.CodingKeys.allCases.map(\.rawValue), "a condition")
      let condition = try Condition(from: element)
      guard condition.testsValue || condition.exists != nil else {
        throw wrong(
          "the condition on \(condition.fact) tests nothing: add a member such as \"is\" or \"exists\""
        )
      }
      guard condition.exists != false || !condition.testsValue else {
        throw wrong(
          "the condition on \(condition.fact) can never be true: with \"exists\": false, it must have no other test"
        )
      }
      for version in [condition.versionFrom, condition.versionBefore].compactMap({ $0 })
      where SystemVersion(version) == nil {
        throw wrong("\(version) is not a version number such as 3.51.2")
      }
      conditions.append(condition)
    }
    guard !conditions.isEmpty, conditions.count <= 100 else {
      throw wrong("an analyser must have from 1 to 100 conditions")
    }
    when = conditions
    verdict = try container.decode(String.self, forKey: .verdict)
    sentence = try container.decode(String.self, forKey: .sentence)
    link = try container.decodeIfPresent(String.self, forKey: .link)
    guard !verdict.utf8.isEmpty, !sentence.utf8.isEmpty else {
      throw wrong("verdict and sentence must not be empty")
    }
  }

  package func holds(_ facts: AnalyserFacts) -> Bool { when.allSatisfy { $0.holds(facts) } }
}

/// The verdict and explanation of an analyser for a store that meets the analyser's conditions.
package struct Analysis: Sendable, Codable, Equatable {
  package let id: String
  package let verdict: String
  package let sentence: String
  package let link: String?
}

extension Analysis {
  // Identifiers of shipped analysers. Each of these analysers tells the user how to get a complete store.

  /// The identifier of the analyser for a file that ends too early.
  package static let cutShort = "file.cutShort"
  /// The identifier of the analyser for a store that was probably copied without its write-ahead log.
  package static let logMissing = "sqlite.logMissing"
  /// The identifier of the analyser for a store that has lost its table Z_METADATA or Z_PRIMARYKEY.
  package static let metadataLost = "coredata.metadataLost"
}

/// A list of analysers, applied in the order of the list.
package struct Analysers: Sendable {
  private var all: [Analyser]
  /// A digest of the analyser files that ``add(folder:)`` has read; empty if there are only shipped analysers.
  package private(set) var digest = ""

  /// The maximum number of entries in a folder of analysers, and the maximum size of one analyser in bytes.
  static let limits = (files: 1000, bytes: Int64(1 << 20))

  package static let shipped = Analysers(all: ShippedAnalysers.decoded)

  private init(all: [Analyser]) { self.all = all }

  /// Returns an analysis from each analyser whose conditions hold. The shipped analysers come first.
  package func analyses(_ facts: AnalyserFacts) -> [Analysis] {
    all.filter { $0.holds(facts) }.map {
      Analysis(id: $0.id, verdict: $0.verdict, sentence: $0.sentence, link: $0.link)
    }
  }

  /// Adds the analysers in a folder. Reads all files whose names end in `.json`, sorted by name.
  ///
  /// - Throws: ``ExtractionError`` with the code `input.badAnalyser` when the folder has no analyser or too many
  ///   entries, or when a file is not a valid analyser; an error of the file system when the folder or a file cannot be
  ///   read.
  package mutating func add(folder: String) throws {
    let names = try OpenFolder(folder).names(limit: Self.limits.files)
    guard !names.isCut else {
      throw ExtractionError(
        .badAnalyser, "the folder has more than \(Self.limits.files) entries", path: folder)
    }
    let files = names.names.map { String(decoding: $0, as: UTF8.self) }
      .filter { PathText.ends($0, with: ".json") }.sorted()
    guard !files.isEmpty else {
      throw ExtractionError(
        .badAnalyser, "the folder holds no analyser, which is a file whose name ends in .json",
        path: folder
      )
    }
    for name in files { try add(file: PathText.joined(folder, name)) }
  }

  private mutating func add(file path: String) throws {
    let file = try ByteFile(path)
    guard file.size <= Self.limits.bytes else {
      throw ExtractionError(
        .badAnalyser, "the file is larger than 1 MiB, the limit for an analyser", path: path)
    }
    let bytes = try file.bytes(at: 0, count: Int(file.size))
    let analyser: Analyser
    do {
      analyser = try JSONDecoder().decode(Analyser.self, from: Data(bytes))
    } catch {
      throw ExtractionError(
        .badAnalyser, "the file is not a valid analyser: \(Self.reason(error))", path: path)
    }
    guard !all.contains(where: { $0.id == analyser.id }) else {
      throw ExtractionError(
        .badAnalyser, "another analyser already has the id \(analyser.id)", path: path)
    }
    all.append(analyser)
    digest = Digest.sha256(Array(digest.utf8) + bytes)
  }

  private static func reason(_ error: any Error) -> String {
    switch error {
    case DecodingError.keyNotFound(let key, _): "\(key.stringValue) is missing"
    case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context):
      "\(context.codingPath.last?.stringValue ?? "the value") has the wrong type"
    case DecodingError.dataCorrupted(let context): context.debugDescription
    default: "it is not JSON"
    }
  }
}
