import CoreDataStore
import SQLiteFile
import SafeText
import StoreExtraction

/// Counts of a store's damage findings, grouped by the finding's id and by the kind of page or table that is damaged.
package struct DamagePlaces: Sendable, Equatable {
  /// The maximum number of groups of damage findings (``Place``) that a triage line lists.
  package static let shown = 32

  /// One group of damage findings: all findings with the same id, kind of page or table, and table name.
  package struct Place: Sendable, Codable, Equatable {
    /// The id of the findings, for example `page.badType`.
    package var id: String
    /// The kind of page or table that is damaged, for example `a table of an entity`.
    package var place: String
    /// The name of the table or index; nil when the findings have no table name. Also nil for a database that is not a
    /// Core Data store, because its table names may contain private text.
    package var table: String?
    package var count: Int
  }

  /// The places with the most findings, at most ``shown``. The place with the highest number of findings comes first.
  let places: [Place]
  /// Strings for the damage findings: the id of a finding and the kind of the damaged place, for example `page.badType
  /// in a table of an entity`. The strings are sorted and distinct. There are at most ``TriageSignature/mostPlaces``.
  let words: [String]

  init(_ findings: [Finding], _ kind: CoreDataStore.Kind) {
    /// The properties of ``Place`` without the count. The names of tables are compared by their bytes.
    struct Key: Hashable {
      let id: String
      let place: String
      let table: ExactText?
    }
    var counts: [Key: Int] = [:]
    var words: Set<String> = []
    for finding in findings where finding.severity == .damage {
      let id = ShortText.word(finding.id.rawValue)
      let place = Self.place(of: finding)
      if words.count < TriageSignature.mostPlaces { words.insert("\(id) in \(place)") }
      let table = kind == .sqlite ? nil : finding.table.map { ExactText(ShortText.name($0)) }
      // The dictionary stays small, because the number of findings in a list is limited.
      counts[Key(id: id, place: place, table: table), default: 0] += 1
    }
    self.words = words.sorted()
    func order(_ place: Place) -> [ExactText] {
      [place.id, place.place, place.table ?? ""].map { ExactText($0) }
    }
    places = counts.map { key, count in
      Place(id: key.id, place: key.place, table: key.table?.text, count: count)
    }.sorted {
      $0.count != $1.count
        ? $0.count > $1.count : order($0).lexicographicallyPrecedes(order($1))
    }.prefix(Self.shown).map(\.self)
  }

  /// Returns the kind of place that a finding is in, as words: a file, a kind of page, or a kind of table.
  private static func place(of finding: Finding) -> String {
    switch finding.member {
    case .wal: return "the log"
    case .journal: return "the journal"
    case .main: break
    }
    if let table = finding.table { return kind(ofTable: table) }
    if let family = finding.id.rawValue.utf8.split(separator: UInt8(ascii: ".")).first {
      switch String(family) {
      case "file", "header": return "the header"
      case "schema": return "the schema"
      case "freelist": return "the freelist"
      case "ptrmap": return "the pointer map"
      case "coredata": return "Core Data's tables"
      default: break
      }
    }
    return finding.page == 1 ? "page 1" : finding.page == nil ? "the file" : "a page of no table"
  }

  /// Returns the kind of a table or index, as words. The kind follows from the name, because Core Data and SQLite name
  /// their tables by fixed rules.
  private static func kind(ofTable name: String) -> String {
    let own = ["Z_METADATA", "Z_PRIMARYKEY", "Z_MODELCACHE"]
    if own.contains(where: { PathText.isSame($0, name) }) { return "Core Data's tables" }
    let history = ["ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING"]
    if history.contains(where: { PathText.isSame($0, name) }) { return "the history" }
    if PathText.starts(name, with: "sqlite_schema") { return "the schema" }
    if PathText.starts(name, with: "sqlite_") { return "SQLite's own tables" }
    if PathText.starts(name, with: "ANSCK") { return "the tables of CloudKit" }
    if PathText.ends(name, with: "_INDEX") || PathText.ends(name, with: "_UNIQUE") {
      return "an index"
    }
    if let rest = PathText.dropping(prefix: "Z_", from: name) {
      // For example, `Z_1TAGS` is a join table, and `Z_Note_byTitle` is an index.
      return rest.utf8.first.map { (0x30...0x39).contains($0) } == true
        ? "a table of links" : "an index"
    }
    return PathText.starts(name, with: "Z") ? "a table of an entity" : "a table"
  }
}
