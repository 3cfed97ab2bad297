/// One row of the tables that map each error code to a treatment.
package struct CodeRule: Sendable, Equatable {
  /// How the code leads to an action.
  package enum Treatment: Sendable, Equatable {
    /// This action, whatever the file looks like.
    case fixed(Action)
    /// The file cannot be opened at all: the action depends on the cause.
    case cannotOpen
    /// A read returned too few bytes: a fault of the environment, unless the file itself is too short. Never a
    /// quarantine.
    case shortRead
    /// Damage, when Lifeboat's own reader confirms it.
    case damage
    /// Not an SQLite file: encrypted, or damage to be confirmed.
    case notADatabase
    /// Damage to derived data only, which a repair on a copy could fix.
    case repairable
    /// The code alone says nothing. Damage is looked for when the error's text blames the schema.
    case statement
    /// The model does not fit.
    case model
    /// The migration found no mapping, or rows that break a rule.
    case migration
    /// The app's mapping is at fault.
    case mapping
    /// The model does not fit, if the hashes say so; otherwise the call was wrong.
    case configuration
    /// The code wraps others; alone it says nothing.
    case wrapper
    /// A required file is missing.
    case noSuchFile
    /// Reading was not permitted: data protection, or permissions.
    case noPermission
    /// Writing failed: space, or permissions.
    case writeFailed
  }

  package let code: Int
  package let treatment: Treatment
  package let finding: Verdict.Finding
  /// The reason, in words.
  package let reason: String

  package init(
    _ code: Int, _ treatment: Treatment, _ finding: Verdict.Finding, _ reason: String
  ) {
    self.code = code
    self.treatment = treatment
    self.finding = finding
    self.reason = reason
  }

  /// Whether the code can never lead to a quarantine.
  package var isFinal: Bool {
    switch treatment {
    case .fixed, .cannotOpen, .shortRead, .noSuchFile, .noPermission, .writeFailed: true
    case .damage, .notADatabase, .repairable, .statement, .model, .migration, .mapping,
      .configuration, .wrapper:
      false
    }
  }
}
