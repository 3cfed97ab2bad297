import Foundation

/// The analysers that ship with Lifeboat. They have the same JSON form as the analysers that users write.
enum ShippedAnalysers {
  /// The decoded analysers of ``texts``. A text that cannot be decoded is left out; a test ensures that all decode.
  static let decoded = texts.compactMap {
    try? JSONDecoder().decode(Analyser.self, from: Data($0.utf8))
  }

  private static func analyser(
    _ id: String, when: String, _ verdict: String, _ sentence: String, link: String? = nil
  ) -> String {
    """
    {"schema": "lifeboat.analyser", "version": 1, "id": "\(id)", "when": [\(when)],
     "verdict": "\(verdict)", "sentence": "\(sentence)"\(link.map { ", \"link\": \"\($0)\"" } ?? "")}
    """
  }

  static let texts = [
    // The affected versions are those that SQLite's page about the WAL-reset bug names. Versions 3.44.6 and 3.50.7
    // contain the fix.
    analyser(
      "sqlite.walReset",
      when: """
        {"fact": "file.sqliteVersion", "versionFrom": "3.7.0", "versionBefore": "3.51.3"},
        {"fact": "file.sqliteVersion", "isNot": "3.44.6"}, {"fact": "file.sqliteVersion", "isNot": "3.50.7"},
        {"fact": "file.journalMode", "is": "wal"}, {"fact": "damageCount", "atLeast": 1},
        {"fact": "writeAheadLog.staleFrameCount", "atLeast": 1},
        {"fact": "writeAheadLog.committedFramesBehindBreak", "atMost": 0}
        """,
      "the damage may come from SQLite's WAL-reset bug",
      "Pages are damaged, the log holds frames from before and after a restart of the log, and the version of SQLite that wrote last may skip pages at a checkpoint that another connection disturbs. Use SQLite 3.51.3 or newer, or open only one connection at a time.",
      link: "https://sqlite.org/wal.html#walresetbug"),
    analyser(
      "sqlite.logBehindBreak",
      when: #"{"fact": "writeAheadLog.committedFramesBehindBreak", "atLeast": 1}"#,
      "finished transactions lie behind a broken frame of the log",
      """
      SQLite stops reading the log at a frame whose checksum is wrong, so SQLite does not show what was saved after \
      that frame. With --wal all, lifeboat rows --all, salvage and recover read the later frames, too.
      """,
      link: "https://sqlite.org/fileformat2.html#walformat"),
    analyser(
      "sqlite.logNotUsed", when: #"{"fact": "writeAheadLog.problem", "exists": true}"#,
      "the log beside the main file is damaged, or belongs to another file",
      "Main file and log must be copied together, while no process has the store open. What was saved last is only in the log: ask for both files.",
      link:
        "https://sqlite.org/howtocorrupt.html#_separating_a_database_file_from_its_wal_or_journal"),
    analyser(
      "sqlite.logMissing",
      when: """
        {"fact": "file.journalMode", "is": "wal"}, {"fact": "files", "includes": "sharedMemory"},
        {"fact": "writeAheadLog.sizeBytes", "exists": false}
        """,
      "the log was probably not copied",
      "A wal-index without its log means that the store was open, and that what was saved last is in a log which was not copied. Ask for the file with -wal at the end of its name.",
      link:
        "https://sqlite.org/howtocorrupt.html#_separating_a_database_file_from_its_wal_or_journal"),
    analyser(
      "sqlite.staleIndex", when: #"{"fact": "sharedMemory.isOlderThanLog", "is": true}"#,
      "the wal-index is older than the log",
      """
      The files were copied one after the other while the store was in use, or an app extension writes with locks of \
      its own. The copy may mix the states of two moments.
      """,
      link: "https://sqlite.org/walformat.html"),
    analyser(
      "sqlite.unfinished", when: #"{"fact": "writeAheadLog.uncommittedFrameCount", "atLeast": 1}"#,
      "the app was ended while it was saving",
      "The log ends with a transaction that was never finished. SQLite drops this transaction; lifeboat rows --wal all shows its rows.",
      link: "https://sqlite.org/atomiccommit.html"),
    analyser(
      "sqlite.hotJournal", when: #"{"fact": "journal.state", "is": "hot"}"#,
      "the next app that opens the store will roll a transaction back",
      """
      The app was ended while it wrote pages into the main file. Keep the journal beside the main file: without the \
      journal, the file is damaged.
      """,
      link: "https://sqlite.org/lockingv3.html#hot_journals"),
    analyser(
      "file.cutShort", when: #"{"fact": "findings", "includes": "file.truncated"}"#,
      "the file ends too early",
      """
      The file was probably cut off on its way: by a copy that ran out of space, a sync that had not finished, or an \
      e-mail. Ask for the file again, with its size.
      """,
      link: "https://sqlite.org/howtocorrupt.html"),
    analyser(
      "file.overwritten", when: #"{"fact": "findings", "includes": "header.unreadable"}"#,
      "the beginning of the file was overwritten or lost",
      """
      SQLite reports error 26, file is not a database. Most of the other pages can usually be read. The command that \
      lifeboat check names makes a new file of them.
      """,
      link: "https://sqlite.org/howtocorrupt.html#_file_overwrite_by_a_rogue_thread_or_process"),
    analyser(
      "coredata.metadataLost", when: #"{"fact": "kind", "is": "coreDataShaped"}"#,
      "Core Data's metadata or entity numbers are lost",
      """
      Tables of entities are there, but Z_METADATA or Z_PRIMARYKEY is not: Core Data will not open the store. From \
      this store and the app's model, lifeboat salvage makes a store that opens.
      """,
      link: "https://developer.apple.com/documentation/coredata"),
    analyser(
      "coredata.metadataAltered", when: #"{"fact": "metadata.digestHolds", "is": false}"#,
      "something other than Core Data has changed the version hashes",
      "The digest in Z_METADATA does not match the version hashes there. A tool or the app's own SQL has written to Z_METADATA; the hashes may be wrong, so compare the model with the tables, too.",
      link: nil),
    analyser(
      "coredata.modelDiffers", when: #"{"fact": "model.hashesAgree", "is": false}"#,
      "the model in the store is not the model that the store's metadata describes",
      """
      A migration was cut off, or a tool has changed the model or the metadata. To compare both with the \
      app's models, run: lifeboat model identify.
      """,
      link: nil),
    analyser(
      "coredata.newerApp", when: #"{"fact": "incident.verdict.finding", "is": "newer"}"#,
      "a newer build of the app has opened the store",
      "The user went back to an older build, or restored a backup onto a device with an older build. Updating the app opens the store again; nothing is damaged.",
      link:
        "https://developer.apple.com/documentation/coredata/migrating-your-data-model-automatically"
    ),
    analyser(
      "swiftdata.unknownVersion", when: #"{"fact": "incident.verdict.rule", "is": "cocoa.134504"}"#,
      "SwiftData does not find the store's version in the migration plan",
      """
      Error 134504: no version of the plan has the hashes of this store. A model was changed without a new version, or \
      a version was left out. Add to the plan the version that was shipped.
      """,
      link: "https://developer.apple.com/documentation/swiftdata/schemamigrationplan"),
    analyser(
      "cloudkit.mirrored", when: #"{"fact": "tables", "includes": "ANSCKRECORDMETADATA"}"#,
      "the store is mirrored to CloudKit",
      """
      What was lost here may still be in iCloud: let the app sync a fresh store before rows are put back, otherwise \
      rows appear twice.
      """,
      link:
        "https://developer.apple.com/documentation/coredata/mirroring-a-core-data-store-with-cloudkit"
    ),
  ]
}
