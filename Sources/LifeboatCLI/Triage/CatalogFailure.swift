import StoreTriage

extension Failure {
  /// Does something with a catalogue, and says what to do when its file is damaged or may not be written to.
  static func ofCatalog<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let error as CatalogError {
      let message = "\(error.path): \(error.message)"
      switch error.code {
      case .damaged:
        throw Failure(
          65, error.code.rawValue, message,
          hint: "make a new one of the same inputs: lifeboat triage INPUTS --catalog NEW.sqlite")
      case .unwritable:
        throw Failure(
          77, error.code.rawValue, message,
          hint: "check the permissions of both, and whether the volume is read-only")
      case .missing, .notACatalog, .otherVersion, .unreadable: throw error
      }
    }
  }
}
