import CoreDataStore
import SQLiteFile
import SafeText
import StoreFiles

/// The store of an export. The store's files are hashed, and watched for changes, while its rows are written.
struct ExportSource {
  let store: CoreDataStore
  let external: ExternalFiles
  /// The wanted tables that hold no rows of entities. Their values are written as they are stored.
  let tables: [Table]
  /// Whether the export leaves out no row of the store and no property.
  let namesAll: Bool
  let watch: EvidenceWatch
  private let hashing: AnotherThread<MemberHashes>

  init(_ store: CoreDataStore, _ options: RowOutput.Options) {
    self.store = store
    external = ExternalFiles(ofStore: store.database.path, isOn: store.kind != .sqlite)
    // Properties can be chosen only of entities, so no other tables are written if the user has chosen properties.
    tables =
      store.shows == nil
      ? ExactText.named(options.entityNames, among: store.plainTables, \.name) : []
    namesAll = options.entityNames == nil && options.limit == nil && store.shows == nil
    watch = EvidenceWatch(store.database.path)
    hashing = StoreSet(at: store.database.path).hashing()
  }

  /// Waits until the files of the store set are hashed. Returns the SHA-256 of each file, by file name. Call it only
  /// once.
  ///
  /// - Throws: an error of reading; ``ExtractionError`` when the store has changed.
  func hashes() throws -> [String: String] {
    let hashed = try hashing.wait()
    try watch.requireUnchanged()
    return try hashed.byName()
  }

  /// Returns what an output says about its source, as names and texts. `name` is the name of the store. `others` are
  /// facts about the form of the output.
  func facts(
    _ name: String, _ hashes: [String: String], _ others: [(String, String)], damageCount: Int
  ) -> [(String, String)] {
    var facts = [("source", name)]
    for (file, hash) in hashes.sorted(by: { $0.key < $1.key }) {
      facts.append(("sha256 of \(file)", hash))
    }
    facts.append(("write-ahead log", store.database.logView.rawValue))
    facts += others
    facts.append(("findings of damage", String(damageCount)))
    return facts
  }
}
