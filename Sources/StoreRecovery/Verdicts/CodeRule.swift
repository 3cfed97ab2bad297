package struct CodeRule: Sendable, Equatable {
  package enum Treatment: Sendable, Equatable {
    /// The error code leads to this action, whatever the file looks like.
    case fixed(Action)
    /// The file cannot be opened at all. The evidence shows the cause, which decides the action.
    case cannotOpen
    /// A read returned too few bytes. Either the file is too short, or the environment is at fault. The store is never
    /// moved.
    case shortRead
    /// The file is damaged, according to the error. Lifeboat's own reader must confirm the damage.
    case damage
    /// The file is not an SQLite file, according to the error. The evidence shows whether the file is encrypted,
    /// damaged or something else.
    case notADatabase
    /// The damage affects only data that is derived from other data, such as an index, or the `sqlite_sequence` table.
    /// A repair on a copy could fix it.
    case repairable
    /// SQLite refused a statement, which says nothing about the store. The store is checked for damage only if the text
    /// of the error blames the schema.
    case statement
    /// The error says that the store does not fit the model. The version hashes are compared to check this.
    case model
    /// The migration failed, or found no mapping model.
    case migration
    /// The app's own migration step failed, or broke a constraint.
    case mapping
    /// The store does not fit the model, or the host has passed wrong options. The version hashes show which of these
    /// is the cause.
    case configuration
    /// An error with this code only wraps other errors, and says nothing by itself.
    case wrapper
    /// A required file is missing.
    case noSuchFile
    /// Reading was not permitted: data protection, or permissions.
    case noPermission
    /// Writing failed, for lack of space or of permission.
    case writeFailed
  }

  package let code: Int
  package let treatment: Treatment
  package let finding: Verdict.Finding
  package let reason: String

  package init(
    _ code: Int, _ treatment: Treatment, _ finding: Verdict.Finding, _ reason: String
  ) {
    self.code = code
    self.treatment = treatment
    self.finding = finding
    self.reason = reason
  }

  package var isFinal: Bool {
    switch treatment {
    case .fixed, .cannotOpen, .shortRead, .noSuchFile, .noPermission, .writeFailed: true
    case .damage, .notADatabase, .repairable, .statement, .model, .migration, .mapping,
      .configuration, .wrapper:
      false
    }
  }
}
