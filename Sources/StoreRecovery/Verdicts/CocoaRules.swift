import SafeText

/// The rule for each code of Core Data and Foundation when the error contains no SQLite code. The numbers are those of
/// Apple's `CoreDataErrors.h` and `FoundationErrors.h`.
package enum CocoaRules {
  package static func rule(for code: Int) -> CodeRule? { byCode[code] }

  private static let byCode = Dictionary(firstOf: rows.map { ($0.code, $0) })

  package static let rows: [CodeRule] = files + coreData + notOpenErrors

  private static let files: [CodeRule] = [
    CodeRule(4, .noSuchFile, .unavailable, "the file does not exist"),
    CodeRule(256, .wrapper, .hostError, "the file could not be read, for an unspecified reason"),
    CodeRule(257, .noPermission, .unavailable, "reading the file is not permitted"),
    CodeRule(258, .fixed(.refuse), .unavailable, "the file's name is not valid"),
    CodeRule(259, .notADatabase, .corrupt, "Core Data found the file damaged"),
    CodeRule(260, .noSuchFile, .unavailable, "the file does not exist"),
    CodeRule(263, .fixed(.refuse), .unavailable, "the file is too large to read"),
    CodeRule(512, .writeFailed, .unavailable, "the file could not be written"),
    CodeRule(513, .writeFailed, .unavailable, "writing the file is not permitted"),
    CodeRule(516, .fixed(.retry), .unavailable, "a file of that name appeared in the meantime"),
    CodeRule(640, .fixed(.wait), .unavailable, "the disk is full"),
    CodeRule(642, .fixed(.refuse), .unavailable, "the volume is read-only"),
  ]

  private static let coreData: [CodeRule] = [
    CodeRule(134000, .fixed(.refuse), .hostError, "the store's type is not the requested one"),
    CodeRule(
      134010, .fixed(.refuse), .hostError, "this system does not know the type of the store"),
    CodeRule(
      134020, .configuration, .hostError,
      "the store does not fit the app's configuration or options"),
    CodeRule(
      134080, .wrapper, .hostError, "the store could not be opened, for an unspecified reason"),
    CodeRule(134100, .model, .incompatible, "the store's model differs from the app's model"),
    CodeRule(134110, .migration, .incompatible, "the migration failed"),
    CodeRule(
      134111, .mapping, .hostError, "rows break a constraint of the new model during migration"),
    CodeRule(134120, .fixed(.retry), .unavailable, "the migration was cancelled"),
    CodeRule(134130, .model, .incompatible, "the app does not know the model that wrote the store"),
    CodeRule(134140, .migration, .incompatible, "no mapping model fits"),
    CodeRule(134150, .wrapper, .hostError, "the migration could not read the store"),
    CodeRule(
      134160, .fixed(.wait), .unavailable, "the migration could not write; the disk may be full"),
    CodeRule(134170, .mapping, .hostError, "the app's own migration step failed"),
    CodeRule(134180, .wrapper, .hostError, "SQLite failed, for an unspecified reason"),
    CodeRule(134190, .migration, .incompatible, "Core Data could not infer a mapping model"),
    CodeRule(134200, .fixed(.refuse), .hostError, "importing external records failed"),
    CodeRule(134301, .fixed(.retry), .hostError, "a history token has expired and must be dropped"),
    CodeRule(
      134504, .model, .incompatible,
      "the staged migration does not know the store's model; a migration without stages may know it"
    ),
    CodeRule(134505, .fixed(.refuse), .newer, "a newer version of Core Data wrote the store"),
    CodeRule(134506, .fixed(.refuse), .newer, "the staged migration would have to go backwards"),
  ]

  private static let notOpenErrors: [CodeRule] = [
    134030, 134040, 134050, 134060, 134070, 134090, 134091,
  ]
  .map { CodeRule($0, .fixed(.refuse), .hostError, "the error does not come from opening a store") }
}
